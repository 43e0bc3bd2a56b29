"""The page of the package on an index such as PyPI: the README, for readers without a checkout.

Hatchling calls the hook when it builds. What stands between "in a checkout" and "end" is left out,
and the package is installed by its name. Links become absolute if the build knows the address of
the repository, by the variables that GitHub sets. Otherwise they become words, and pictures go.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent
LINK = r"\]\((?!https?:|#)([^)\s]+)\)"
WORDS = r"!\[[^\]]*"  # of a picture
PICTURE = WORDS + LINK


def package_page(readme: str, repository: str = "", ref: str = "main") -> str:
    """Write the page from the README, for a repository OWNER/NAME at a tag or a branch."""
    text = re.sub(r"(?s)<!-- in a checkout -->\n.*?<!-- end -->\n+", "", readme)
    text = text.replace("pip install .", "pip install bayesrank")
    if not repository:
        text = re.sub(rf"(?m)^{PICTURE}\n+(\*[^*]*\*\n+)?", "", text)  # with its caption
        return re.sub(r"\[([^\]]+)" + LINK, r"\1", text)
    raw = f"https://raw.githubusercontent.com/{repository}/{ref}/"
    text = re.sub(rf"({WORDS}){LINK}", rf"\1]({raw}\2)", text)
    return re.sub(LINK, rf"](https://github.com/{repository}/blob/{ref}/\1)", text)


def addresses(repository: str) -> dict[str, str]:
    """Name the addresses of a repository OWNER/NAME, whose site `docs.yml` publishes."""
    owner, _, name = repository.partition("/")
    source = f"https://github.com/{repository}"
    return {
        "Documentation": f"https://{owner.lower()}.github.io/{name}/",
        "Source": source,
        "Issues": f"{source}/issues",
        "Changelog": f"{source}/blob/main/CHANGELOG.md",
    }


def page_of(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of the metadata, as the variables of a build on GitHub decide."""
    repository = environment.get("GITHUB_REPOSITORY", "")
    is_tag = environment.get("GITHUB_REF_TYPE") == "tag"
    ref = environment.get("GITHUB_REF_NAME", "main") if is_tag else "main"
    text = package_page((ROOT / "README.md").read_text(encoding="utf-8"), repository, ref)
    page: dict[str, Any] = {"readme": {"content-type": "text/markdown", "text": text}}
    return page | ({"urls": addresses(repository)} if repository else {})


class PackagePage(MetadataHookInterface):
    """Hatchling's hook."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the page and the addresses."""
        metadata.update(page_of(os.environ))

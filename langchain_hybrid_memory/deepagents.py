"""A memory as the files of a deep agent."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from hybrid_memory.errors import MissingDependencyError

try:
    from deepagents.backends.protocol import (
        BackendProtocol,
        DeleteResult,
        EditResult,
        FileData,
        FileDownloadResponse,
        FileInfo,
        FileUploadResponse,
        GlobResult,
        GrepMatch,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )
    from deepagents.backends.utils import slice_read_response
    from wcmatch import glob as patterns
except ImportError as error:
    raise MissingDependencyError("deepagents", "deepagents") from error

from hybrid_memory import HybridMemory, Origin
from hybrid_memory.adapters import File, MemoryFiles, Runner, checked, faces
from hybrid_memory.errors import FileError, InvalidInputError, StoreError
from langchain_hybrid_memory.scopes import Binding

_CODES = {"missing": "file_not_found", "folder": "is_directory", "read_only": "permission_denied"}
"""deepagents' codes by the reasons of `FileError`; every other reason is an invalid path."""

_AWAY = "the memory cannot be reached now: continue without it"

_log = logging.getLogger(__name__)


class HybridMemoryBackend(BackendProtocol):
    """The files of a memory, as a backend of ``create_deep_agent``, its ``CompositeBackend`` and ``MemoryMiddleware``.

    See `MemoryFiles` for its paths: ``/profile.md``, ``/facts``, ``/blocks``, and your own files. What the agent writes
    has the origin ``assistant``: every host can recall it, learning treats it as such, and you can withdraw or forget
    it. Mistakes of the model and failures of the store are errors in the result; no run ends.

    Args:
        memory: an open memory; several agents may share it.
        user, agent, tenant: the owner of the files; omitted parts are taken from each run, see
            `langchain_hybrid_memory.scopes.Binding`.

    Raises:
        InvalidScopeError: a run names no user.
    """

    @checked
    def __init__(
        self,
        memory: HybridMemory,
        *,
        user: str | None = None,
        agent: str | None = None,
        tenant: str | None = None,
    ) -> None:
        self._binding = Binding(memory, user=user, agent=agent, tenant=tenant)

    def _files(self) -> MemoryFiles:
        return self._binding.scoped().files()

    async def _ls(self, run: Runner, /, path: str) -> LsResult:
        try:
            return LsResult(entries=[_info(file) for file in await run.call(self._files().list, path)])
        except FileError as error:
            # No folder is there before something lies in it.
            return LsResult(entries=[]) if error.reason == "missing" else LsResult(error=_error_text(error))
        except StoreError as error:
            return LsResult(error=_error_text(error))

    ls, als = faces(_ls)

    async def _read(self, run: Runner, /, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        try:
            text = await run.call(self._files().read, file_path)
        except (FileError, StoreError) as error:
            return ReadResult(error=_error_text(error))
        return slice_read_response(FileData(content=text, encoding="utf-8"), offset, limit)

    read, aread = faces(_read)

    async def _write(self, run: Runner, /, file_path: str, content: str) -> WriteResult:
        try:
            await run.call(self._files().write, file_path, content, origin=Origin.ASSISTANT)
        except (InvalidInputError, StoreError) as error:
            return WriteResult(error=_error_text(error))
        return WriteResult(path=file_path)

    write, awrite = faces(_write)

    async def _edit(
        self, run: Runner, /, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        files = self._files()
        try:
            times = (await run.call(files.read, file_path)).count(old_string) if old_string else 0
            await run.call(files.edit, file_path, old_string, new_string, all=replace_all, origin=Origin.ASSISTANT)
        except (InvalidInputError, StoreError) as error:
            return EditResult(error=_error_text(error))
        return EditResult(path=file_path, occurrences=times)

    edit, aedit = faces(_edit)

    async def _delete(self, run: Runner, /, file_path: str) -> DeleteResult:
        try:
            await run.call(self._files().delete, file_path)
        except (InvalidInputError, StoreError) as error:
            return DeleteResult(error=_error_text(error))
        return DeleteResult(path=file_path)

    delete, adelete = faces(_delete)

    async def _glob(self, run: Runner, /, pattern: str, path: str | None = None) -> GlobResult:
        try:
            found = await self._fitting(run, pattern, path)
        except (FileError, StoreError) as error:
            return GlobResult(error=_error_text(error))
        return GlobResult(matches=[_info(file) for file in found])

    glob, aglob = faces(_glob)

    async def _grep(
        self,
        run: Runner,
        /,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        if not pattern:
            return GrepResult(error="Error: the pattern is empty: give the words to look for, letter for letter")
        found: list[GrepMatch] = []
        try:
            for file in await self._fitting(run, glob or "**", path):
                lines = enumerate((await run.call(self._files().read, file.path)).split("\n"), start=1)
                matching = ((row, line.removesuffix("\r")) for row, line in lines if pattern in line)
                found += [GrepMatch(path=file.path, line=row, text=line) for row, line in matching]
        except (FileError, StoreError) as error:
            return GrepResult(error=_error_text(error))
        shown = found if max_count is None else found[: max(max_count, 0)]
        return GrepResult(matches=shown, truncated=len(shown) < len(found))

    grep, agrep = faces(_grep)

    async def _fitting(self, run: Runner, pattern: str, path: str | None) -> list[File]:
        """The file at this path, or those below it that fit from there; a pattern without a slash is about names."""
        root, wanted = (path or "/").rstrip("/"), pattern.lstrip("/")
        flags = patterns.BRACE | patterns.GLOBSTAR | (0 if "/" in pattern else patterns.MATCHBASE)
        files: list[File] = await run.call(self._files().list, deep=True)
        below = ((file, file.path.removeprefix(f"{root}/")) for file in files if f"{file.path}/".startswith(f"{root}/"))
        return [file for file, rest in below if file.path == root or patterns.globmatch(rest, wanted, flags=flags)]

    async def _upload_files(self, run: Runner, /, files: Sequence[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write files that the program provides; the origin of their words is unknown."""
        made = []
        for path, content in files:
            failed: str | None = None
            try:
                await run.call(self._files().write, path, content.decode(), origin=Origin.IMPORTED)
            except UnicodeDecodeError:
                failed = "a file of a memory is text in UTF-8"
            except (InvalidInputError, StoreError) as error:
                failed = _code(error)
            made.append(FileUploadResponse(path=path, error=failed))
        return made

    upload_files, aupload_files = faces(_upload_files)

    async def _download_files(self, run: Runner, /, paths: Sequence[str]) -> list[FileDownloadResponse]:
        made = []
        for path in paths:
            try:
                text = await run.call(self._files().read, path)
                made.append(FileDownloadResponse(path=path, content=text.encode()))
            except FileError as error:
                made.append(FileDownloadResponse(path=path, error=_code(error)))
            except StoreError as error:
                # `MemoryMiddleware` ends the run for any other error.
                _log.warning("the agent continues without %s: %s", path, error)
                made.append(FileDownloadResponse(path=path, error="file_not_found"))
        return made

    download_files, adownload_files = faces(_download_files)


def _info(file: File) -> FileInfo:
    path = f"{file.path}/" if file.folder else file.path
    info = FileInfo(path=path, is_dir=file.folder, size=file.size)
    if file.modified_at is not None:
        info["modified_at"] = file.modified_at.isoformat()
    return info


def _error_text(error: Exception) -> str:
    return f"Error: {_AWAY if isinstance(error, StoreError) else error}"


def _code(error: Exception) -> str:
    if isinstance(error, FileError):
        return _CODES.get(error.reason, "invalid_path")
    return _AWAY if isinstance(error, StoreError) else str(error)

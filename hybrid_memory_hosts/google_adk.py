"""Hybrid memory for Google's Agent Development Kit: a session service, a memory service, and tools.

The owner of a conversation is the user together with the app, as the agent: apps do not see each other's memories.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from hybrid_memory.errors import MissingDependencyError

try:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.models.llm_request import LlmRequest
    from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
    from google.adk.sessions.session import Session
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types
except ImportError as error:
    raise MissingDependencyError("google-adk", "google-adk") from error

from hybrid_memory import HybridMemory, Message, Role, ScopedMemory
from hybrid_memory.adapters import TWINS, checked, media_lines, recollect, spoken_words, without_notices
from hybrid_memory.errors import InvalidInputError, ModelError, StoreError
from hybrid_memory.tools import MemoryTool, tools_named
from hybrid_memory_hosts.adk_events import MARK, TEMPORARY, from_event, to_events

LEDGER = "google-adk"
"""The session that stores the names of an owner's sessions and their shared state."""

APP, USER = "app:", "user:"

FOUND = 10
"""How many memories a search returns at most."""

_log = logging.getLogger(__name__)


class _OfApps:
    """A service for the users of apps."""

    @checked
    def __init__(self, memory: HybridMemory, *, tenant: str | None = None) -> None:
        self._memory, self._tenant = memory, tenant

    def _scoped(self, app: str, user: str | None, session: str | None = None) -> ScopedMemory:
        return self._memory.scoped(tenant=self._tenant, user=user, agent=app, session=session)


class HybridSessionService(_OfApps, BaseSessionService):
    """A session service that keeps the sessions of an app's users in a memory.

    Events come back as ADK itself restores them from JSON. State follows ADK's rules: ``app:`` is shared by all users
    of the app, ``user:`` by all sessions of the user, ``temp:`` is not kept, and the rest belongs to the session.

    The log is append-only: a deleted session is gone, but its messages can still be recalled. Only the memory's
    ``forget`` destroys them, and destroying a user destroys their state too. Sessions from `list_sessions` have neither
    events nor session state, as ADK specifies.

    Args:
        memory: an open memory; several apps may share it.
        tenant: the tenant of these users.
    """

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        name = (session_id or "").strip() or str(uuid4())
        scoped = self._scoped(app_name, user_id, name)
        if await scoped.ahistory(current=True, limit=1):
            raise AlreadyExistsError(f"Session with id {name} already exists.")
        await self._share(app_name, user_id, state or {}, {"session": name})
        await scoped.aremember(_note({"state": _own(state or {})}))
        return await self._session(app_name, user_id, name, await scoped.ahistory(current=True))

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        name = session_id.strip()
        said = await self._scoped(app_name, user_id, name).ahistory(current=True)
        if not said:
            return None
        session = await self._session(app_name, user_id, name, said)
        if config is not None and config.after_timestamp:
            session.events = [event for event in session.events if event.timestamp >= config.after_timestamp]
        if config is not None and config.num_recent_events is not None:
            session.events = session.events[max(0, len(session.events) - config.num_recent_events) :]
        return session

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        owners = [owner for owner in await self._memory.aowners() if owner.tenant == self._tenant]
        users = sorted(owner.user for owner in owners if owner.agent == app_name and owner.user is not None)
        found = []
        for user in users if user_id is None else [user_id]:
            notes = await self._notes(self._scoped(app_name, user, LEDGER))
            for name in dict.fromkeys(note["session"] for note in notes if "session" in note):
                if newest := await self._scoped(app_name, user, name).ahistory(current=True, limit=1):
                    at = newest[0].at.timestamp() if newest[0].at else 0.0
                    found.append(Session(id=name, app_name=app_name, user_id=user, last_update_time=at))
        found.sort(key=lambda session: (session.last_update_time, session.user_id, session.id))
        return ListSessionsResponse(sessions=found)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        scoped = self._scoped(app_name, user_id, session_id.strip())
        if await scoped.ahistory(current=True, limit=1):
            await scoped.areset()

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        return _state(await self._notes(self._scoped(app_name, user_id, LEDGER)))

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial:
            return event
        scoped = self._scoped(session.app_name, session.user_id, session.id)
        if not await scoped.ahistory(current=True, limit=1):
            raise SessionNotFoundError(f"Session {session.id} not found.")
        # Everything has an id made of the event's: after a failure the caller may give it again.
        await scoped.aremember(from_event(event))
        await self._share(session.app_name, session.user_id, event.actions.state_delta, {}, name=event.id)
        if any(event.id == known.id for known in session.events):
            return event
        await super().append_event(session, event)
        session.last_update_time = event.timestamp
        return event

    async def _notes(self, ledger: ScopedMemory) -> list[dict[str, Any]]:
        return [note for message in await ledger.ahistory(current=True) if (note := _noted(message)) is not None]

    async def _share(
        self, app: str, user: str, state: Mapping[str, Any], note: dict[str, Any], name: str | None = None
    ) -> None:
        """Write the state that is shared with other sessions."""
        ours, users = _under(APP, state), _under(USER, state)
        if ours:
            await self._scoped(app, None, LEDGER).aremember(_note({"state": ours}, name))
        if users or note:
            await self._scoped(app, user, LEDGER).aremember(_note({**note, "state": users}, name))

    async def _session(self, app: str, user: str, name: str, messages: Sequence[Message]) -> Session:
        spoken = [message for message in without_notices(messages) if _noted(message) is None]
        notes, events = [_noted(message) or {} for message in messages], to_events(spoken, agent=app)
        shared = await self._notes(self._scoped(app, None, LEDGER))
        users = await self._notes(self._scoped(app, user, LEDGER))
        state = _state(notes)
        for event in events:
            state |= _own(event.actions.state_delta)
        state |= {APP + key: value for key, value in _state(shared).items()}
        state |= {USER + key: value for key, value in _state(users).items()}
        made = messages[-1].at.timestamp() if messages[-1].at else 0.0
        at = events[-1].timestamp if events else made
        return Session(id=name, app_name=app, user_id=user, state=state, events=events, last_update_time=at)


def _note(value: dict[str, Any], name: str | None = None) -> Message:
    """An internal entry that no model sees; writing it twice under the same name changes nothing."""
    named = None if name is None else f"{name}:state"
    return Message(role=Role.SYSTEM, content=[{MARK: value}], id=named, extra={MARK: {}})


def _noted(message: Message) -> dict[str, Any] | None:
    mark, content = message.extra.get(MARK), message.content
    ours = mark == {} and isinstance(content, list) and bool(content)
    return content[0].get(MARK) if ours and isinstance(content, list) else None


def _state(notes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {key: value for note in notes for key, value in note.get("state", {}).items()}


def _own(state: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the state that belongs to the session."""
    return {key: value for key, value in state.items() if not key.startswith((APP, USER, TEMPORARY))}


def _under(prefix: str, state: Mapping[str, Any]) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}


class HybridMemoryService(_OfApps, BaseMemoryService):
    """A memory service that searches the conversations of an app's users.

    With a `HybridSessionService` on the same memory, every message can be found at once, and adding a session changes
    nothing. A search that fails logs a warning and finds nothing.

    Args:
        memory: an open memory; several apps may share it.
        tenant: the tenant of these users.
    """

    async def add_session_to_memory(self, session: Session) -> None:
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        said = [message for event in events if not event.partial for message in from_event(event)]
        if said:
            await self._scoped(app_name, user_id, session_id).amirror(said)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep each memory as a note; it has the origin ``user`` if its author is ``user`` or missing."""
        notes = []
        for entry in memories:
            words = "\n".join(part.text for part in entry.content.parts or () if part.text)
            role = Role.USER if entry.author in (None, "user") else Role.ASSISTANT
            notes.append(Message(role=role, content=words, id=entry.id, metadata=entry.custom_metadata))
        await self._scoped(app_name, user_id).aremember(notes)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        if not query.strip():
            return SearchMemoryResponse()
        scoped = self._scoped(app_name, user_id)
        try:
            portion = await recollect(TWINS, scoped, query, k=FOUND, shown={query})
        except (StoreError, ModelError) as error:
            _log.warning("the agent continues without memory: %s", error)
            return SearchMemoryResponse()
        statements = [*portion.standing, *portion.memories.statements]
        said = [_entry(fact.sources[0], "user", spoken_words(fact), fact.valid_from) for fact in statements]
        texts = {fact.text for fact in statements}
        records = [hit.record for hit in portion.memories.hits if hit.record.text not in texts]
        turns = [
            _entry(record.sources[0], "user" if record.speaker == Role.USER else app_name, record.text, record.at)
            for record in records
        ]
        return SearchMemoryResponse(memories=[*said, *turns])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Destroy a memory found by a search, and everything derived from it.

        Raises:
            InvalidInputError: the user has no memory with this id.
        """
        if memory_id is None:
            raise InvalidInputError("which memory? give memory_id=, as returned by a search")
        await self._scoped(app_name, user_id).aforget(ids=memory_id)


def _entry(name: str, author: str, words: str, at: datetime) -> MemoryEntry:
    return MemoryEntry(
        id=name,
        author=author,
        content=types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=words)]),
        timestamp=at.isoformat(),
    )


class MediaLines:
    """A ``before_model_callback`` that sends a line for images and files of earlier turns.

    ``PromptConfig(media_turns=)`` of the memory says for how long they are sent. The session keeps them.

    Args:
        memory: an open memory.
    """

    @checked
    def __init__(self, memory: HybridMemory) -> None:
        self._memory = memory

    def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        contents = llm_request.contents
        events = [Event(author="user" if one.role == "user" else "model", content=one) for one in contents]
        for number, parts in media_lines(self._memory, list(map(from_event, events))).items():
            contents[number] = to_events(parts, agent="model")[0].content or contents[number]


@checked
def memory_tools(
    memory: HybridMemory, *, tenant: str | None = None, names: str | Iterable[str] | None = None
) -> list[BaseTool]:
    """Tools with which a model can remember, recall, update, forget and read more, for the run's app and user.

    Invalid arguments and handles, and a failing store, are answered with an error text.

    Args:
        memory: an open memory.
        tenant: the tenant of these users.
        names: the tools to return, such as ``memory_recall``; by default all.

    Raises:
        InvalidInputError: there is no tool of that name.
    """
    return [_Tool(tool, memory, tenant) for tool in tools_named(names)]


class _Tool(BaseTool):
    def __init__(self, tool: MemoryTool, memory: HybridMemory, tenant: str | None) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool, self._memory, self._tenant = tool, memory, tenant

    def _get_declaration(self) -> types.FunctionDeclaration:
        schema = self._tool.arguments.model_json_schema()
        return types.FunctionDeclaration(name=self.name, description=self.description, parameters_json_schema=schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        session = tool_context.session
        scoped = self._memory.scoped(tenant=self._tenant, user=session.user_id, agent=session.app_name)
        return (await self._tool.arun(scoped, args)).text

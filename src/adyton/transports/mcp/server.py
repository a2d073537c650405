"""The server of the protocol: tools, resources and one prompt, for whoever a connection says is calling."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

import adyton
from adyton.certify import json_text
from adyton.errors import CuratorError, InvalidRequest
from adyton.operations.roles import Action
from adyton.service.house import Visitor
from adyton.service.limits import LIMITS
from adyton.transports.http.bodies import Body
from adyton.transports.http.desk import Desk, goes_on
from adyton.transports.http.errors import place_and_fix, unexpected
from adyton.transports.mcp import guide, words
from adyton.transports.mcp.tools import TOOLS, Call, Tool, ToolResult, refused

Context = Any  # the SDK's, whose type has parameters that do not matter here
Caller = Callable[[Context], Visitor]
_Made = TypeVar("_Made")
_STUDY = "adyton://"
_TOO_LONG = (
    f"this result is longer than the {LIMITS.agent_answer_bytes:,} bytes that an agent is shown: ask over "
    "HTTP; what was charged is charged once, and the same query is free there"
)


class Agents:
    """``caller`` says who sends a request; ``connection`` tells those apart whose calls count from one."""

    def __init__(self, desk: Desk, caller: Caller, connection: str) -> None:
        self._desk, self._caller, self._connection = desk, caller, connection

    def server(self) -> Server[Any]:
        _hush()
        made: Server[Any] = Server(
            "adyton",
            version=adyton.__version__,
            instructions=guide.INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            get_tool_input_schema=lambda name: _SCHEMAS.get(name),
        )
        made.middleware.clear()  # spans of the SDK would hold names as they were typed
        return made

    def _visitor(self, context: Context) -> Visitor:
        """Held to what one session may do, whatever the role: this door is for agents."""
        return self._caller(context).in_sessions(self._desk.house.caps)

    # Tools.

    async def _list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        """Those that the visitor may use on something."""
        visitor = _or_error(lambda: self._visitor(context))
        return types.ListToolsResult(
            tools=[_LISTED[name] for name, tool in TOOLS.items() if tool.is_for(visitor)]
        )

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(TOOLS)
            raise MCPError(types.INVALID_PARAMS, f"there is no such tool; there are: {known}")
        try:
            return await self._worked(context, params, tool)
        except CuratorError as error:
            return _told(refused(error), error=True)
        except Exception as error:
            kind = type(error).__name__
        return _told(refused(unexpected(kind, "a tool")), error=True)

    async def _worked(
        self, context: Context, params: types.CallToolRequestParams, tool: Tool
    ) -> types.CallToolResult:
        visitor = self._visitor(context)
        body = _body(tool.takes, params.arguments or {})
        self._desk.check_batch(getattr(body, "queries", None) or [])
        call = Call(
            self._desk.house, visitor, params.name, body, json.dumps(context.request_id), self._connection
        )
        return await self._to_the_end(self._desk.done(visitor, lambda: _told(tool.work(call))))

    async def _to_the_end(self, work: Coroutine[Any, Any, _Made]) -> _Made:
        """Whoever cancels a call does not stop it: it may be paid for, and keeps its place until then."""
        going = asyncio.ensure_future(work)
        goes_on(going)
        return await asyncio.shield(going)

    # Resources: public facts, and the grammar.

    async def _list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        visitor = _or_error(lambda: self._visitor(context))
        mine = [one.name for one in self._desk.house.served if visitor.identity(one.name)]
        facts = [
            types.Resource(
                name=name,
                uri=f"{_STUDY}facts/{name}",
                mime_type="application/json",
                description="Public facts.",
            )
            for name in mine
        ]
        return types.ListResourcesResult(resources=[_GRAMMAR, *facts])

    async def _list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[_FACTS])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        visitor, uri = _or_error(lambda: self._visitor(context)), str(params.uri)
        if uri == str(_GRAMMAR.uri):
            content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=guide.GRAMMAR)
            return types.ReadResourceResult(contents=[content])
        name = uri.removeprefix(f"{_STUDY}facts/")
        text = await self._done(visitor, lambda: _short(json_text(self._facts(visitor, name))))
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[content])

    def _facts(self, visitor: Visitor, name: str) -> dict[str, Any]:
        found, _ = self._desk.house.anything(visitor, name, Action.LOOK)
        return found.facts()

    async def _done(self, visitor: Visitor, work: Callable[[], str]) -> str:
        """The same as a tool does, for what is read; what is refused as an error of the protocol."""
        try:
            return await self._desk.done(visitor, work)
        except CuratorError as error:
            said = error.message
        raise MCPError(types.INVALID_PARAMS, said)

    # The prompt.

    async def _list_prompts(self, context: Context, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_PROMPT])

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        visitor, given = _or_error(lambda: self._visitor(context)), params.arguments or {}
        if params.name != _PROMPT.name or not given.keys() <= {"study"}:
            raise MCPError(types.INVALID_PARAMS, f"there is one prompt, {_PROMPT.name}; it may name a study")
        said = guide.GUIDE
        if "study" in given:
            name = given["study"]
            said += "\n\n" + await self._done(
                visitor, lambda: _short(words.facts_said(self._facts(visitor, name)))
            )
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=said))
        return types.GetPromptResult(description=_PROMPT.description, messages=[message])


def _told(result: ToolResult, *, error: bool = False) -> types.CallToolResult:
    """Without NaN or infinities, as JSON is everywhere here."""
    text = json_text(result.structured)
    if len(text) + len(result.said) > LIMITS.agent_answer_bytes:
        raise InvalidRequest(_TOO_LONG)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.said)],
        structured_content=json.loads(text),
        is_error=error,
    )


def _short(text: str) -> str:
    if len(text) > LIMITS.agent_answer_bytes:
        raise InvalidRequest(_TOO_LONG)
    return text


def _body(takes: type[Body], arguments: dict[str, Any]) -> Body:
    """What came in, if it is what the schema says; before anything is planned."""
    try:
        return takes.model_validate(arguments)
    except ValidationError as error:
        wrong: dict[str, Any] = dict(error.errors(include_url=False, include_input=False)[0])
    raise InvalidRequest(place_and_fix(wrong, "the arguments", "this tool's schema"))


def _or_error(make: Callable[[], _Made]) -> _Made:
    """What ``make`` returns; what it refuses as an error of the protocol."""
    try:
        return make()
    except CuratorError as error:
        said = error.message
    raise MCPError(types.INVALID_PARAMS, said)


def _hush() -> None:
    """The SDK logs what was typed, Host headers for instance.  What an operator needs is logged here."""
    log = logging.getLogger("mcp")
    log.handlers, log.propagate = [logging.NullHandler()], False


_SCHEMAS = {name: tool.takes.model_json_schema() for name, tool in TOOLS.items()}
_LISTED = {
    name: types.Tool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=_SCHEMAS[name],
        output_schema={"type": "object"},
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.changes,
            destructive_hint=any(one.final for one in tool.operations),
            idempotent_hint=all(one.again for one in tool.operations),
            open_world_hint=False,
        ),
    )
    for name, tool in TOOLS.items()
}
_GRAMMAR = types.Resource(
    name="grammar", uri=f"{_STUDY}grammar", mime_type="text/plain", description="The SQL that is answered."
)
_FACTS = types.ResourceTemplate(
    name="facts",
    uri_template=f"{_STUDY}facts/{{name}}",
    mime_type="application/json",
    description="Public facts of a study or a holdout.",
)
_PROMPT = types.Prompt(
    name="query_a_study",
    description="How to query a study well: preview, ask little, read both intervals, adapt to refusals.",
    arguments=[types.PromptArgument(name="study", description="its facts are added", required=False)],
)

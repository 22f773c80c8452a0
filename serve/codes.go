package serve

import (
	"slices"

	"github.com/parley-mcp/parley/serve/client"
)

// An explanation is what the document says of the code of a problem, to whoever writes
// a program. The titles are for people.
type explanation struct {
	when   string
	params map[string]string // members of params, and what they are
}

// explanations are there for each code of [problems] and [ownProblems].
var explanations = map[string]explanation{
	"bad_request":        {when: "The request is not what the document says; detail says why."},
	"too_large":          {"The body is too large.", map[string]string{"limit": "bytes of a body, at most"}},
	"token_used":         {when: "The one-time token of local sign-in was used already or has ended."},
	"signed_out":         {when: "There is no bearer and no session, or it has ended or was revoked. Get another one; the same one is refused again."},
	"api_key":            {when: "The route takes an API key of the host, and there is none in the request."},
	"unavailable":        {when: "The host cannot check who asks, since its store is away. Nothing was changed; try again."},
	"cross_origin":       {when: "A browser sent it from a page of an origin that is not allowed."},
	"scope":              {when: "The session or token does not have the scope of the route, or belongs to a model and the route is for people."},
	"namespace":          {when: "The API key does not own the issuer or tenant that was named."},
	"disabled":           {when: "The person's access was taken away."},
	"wrong_host":         {when: "The Host header is no name of this host: its address, or that of --public-url."},
	"method_not_allowed": {when: "The path has no such method."},
	"not_found":          {when: "There is no such row, or none in sight of the session: no answer tells which."},
	"unknown_server":     {when: "The host has no such server."},
	"unknown_tool":       {when: "The server has no such tool."},
	"no_sign_in":         {when: "Nobody signs in to that server on this host."},
	"sign_in":            {when: "The server wants the person to sign in there first."},
	"sign_in_over":       {when: "No such sign-in to a server is under way: it took too long, did not come about, is being finished at this moment, is not what the person is signed in by any more, or was begun by somebody else."},
	"sign_in_failed":     {"A sign-in to a server did not come about; detail says why.", map[string]string{"server": "its id"}},
	"unreachable":        {"A server cannot be reached; detail says why.", map[string]string{"server": "its id"}},
	"question_closed":    {when: "The question was answered, expired or withdrawn; closed_by says by what. Of two answers the second one gets this."},
	"question_open":      {when: "The question has no answer that could be taken back."},
	"not_opened":         {when: "A question of mode url is accepted, and the person has not agreed to its address: POST /v1/questions/{id}/open."},
	"url_changed":        {when: "The person agreed to another address than the question has now. Read the question again and show it."},
	"too_late":           {when: "An answer cannot be taken back, since it may be on its way to the server."},
	"check_failed":       {when: "What was entered does not fit the form; errors has one entry for each field."},
	"approval_closed":    {when: "The approval was decided, expired or withdrawn."},
	"not_decider":        {when: "The policy has somebody else decide the approval."},
	"wrong_state":        {"The call is in a state in which that is not possible.", map[string]string{"state": "of the call"}},
	"key_reused":         {when: "The Idempotency-Key came before, with another request."},
	"limit": {"It is more than the host takes. Over too_large it will be as well later on, over the others not.", map[string]string{
		"reason": "too_large (arguments or an answer), or too_many_streams, too_many_streams_of_issuer, too_many_streams_of_all", "limit": "bytes, or streams and requests that wait, open at once",
	}},
	"policy_unavailable": {when: "The host's policy failed, so nothing was called. Try again."},
	"stopping":           {when: "The host is about to stop. Try again."},
	"storage_full":       {when: "The host's store has no room. Nothing was changed."},
	"sealed":             {when: "What is stored of the row cannot be opened. It can be stopped, denied and removed; nothing is sent of it."},
	"internal":           {when: "Something else failed; detail has the number under which the host's log tells of it."},
	"timeout":            {when: "It took too long. Whether it was done has to be read; with an Idempotency-Key it can be sent again."},
	"gone":               {when: "The client gave the request up, so nobody reads this."},
}

// codes are those of all problems, in the order of the tables.
func codes() []string {
	var list []string
	for _, row := range slices.Concat(problems, ownProblems) {
		if !slices.Contains(list, row.code) {
			list = append(list, row.code)
		}
	}
	return list
}

// drawProblem has the schema name the codes, and returns the response of all errors.
func (d *drawing) drawProblem() object {
	ref := d.schema(body[client.Problem]())
	properties, ok := d.schemas["Problem"].(object)["properties"].(object)
	if !ok {
		panic("serve: a problem is no object")
	}
	properties["code"] = object{
		"type": "string", "enum": codes(),
		"description": "Which problem it is: x-parley-problems of the response has them all. A later version may have more; take those by their status.",
	}
	rows := []object{}
	for _, code := range codes() {
		all := slices.Concat(problems, ownProblems)
		row := object{
			"code": code, "when": explanations[code].when,
			"status": all[slices.IndexFunc(all, func(row problem) bool { return row.code == code })].status,
		}
		if params := explanations[code].params; params != nil {
			row["params"] = params
		}
		rows = append(rows, row)
	}
	return object{
		"description":       "What went wrong, as a row of one table: see code.",
		"content":           object{"application/problem+json": object{"schema": ref}},
		"x-parley-problems": rows,
	}
}

// drawEvents is the media type of the event stream. A schema of OpenAPI 3.1 describes
// whole bodies, and a stream has no end.
func (d *drawing) drawEvents() object {
	kinds := []object{}
	for _, k := range eventKinds {
		data := d.schema
		if k.data == body[position]() {
			data = d.structure // a schema of one line needs no name
		}
		kinds = append(kinds, object{"event": k.name, "description": k.doc, "data": data(k.data)})
	}
	return object{
		"schema": object{"type": "string", "description": "Server-sent events, as in the HTML Standard. " +
			"event is one of x-parley-events, data its JSON in one line, id its number, and retry what a browser waits before it comes back. " +
			"A row is sent whole, as it is when it is sent; states in between may be left out. Lines that begin with a colon come each 15 s and say nothing."},
		"x-parley-events": kinds,
	}
}

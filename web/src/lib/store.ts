// One store per page and one event stream per store, however many elements are
// on the page: HTTP/1.1 allows a browser six connections to a host.
//
// The server's rows are the truth. A row replaces an older one by version, so
// the snapshot and the stream may arrive in any order. `hello` opens a fresh
// stream and `reset` says that it has a gap: both load the snapshot again.

import { API, Problem, Unreachable, type TokenSource } from './api'
import { parseExact } from './json'
import { EventParser, type StreamEvent } from './events'
import { announce } from './announce'
import { t, toolCalled } from './text'
import { hasEnded, isOpen, type Call, type Conversation, type Question, type Server, type Session, type Tool } from './wire'

/** connecting: no stream yet; live; lost: trying again; signed-out: the token is gone or refused. */
export type Connection = 'connecting' | 'live' | 'lost' | 'signed-out'

export type Change =
	| { kind: 'question'; id: string }
	| { kind: 'call'; id: string }
	| { kind: 'connection' | 'snapshot' | 'servers' | 'conversations' | 'session'; id?: undefined }

const firstWait = 2_000 // the server's `retry` replaces it
const longestWait = 30_000
const silence = 45_000 // three of the server's comments missed
const hiddenFor = 60_000 // a hidden page gives its connection back after this
const hiddenPoll = 60_000

export class Store {
	readonly api: API
	session: Session | null = null
	servers: readonly Server[] = []
	connection: Connection = 'connecting'

	readonly #questions = new Map<string, Question>()
	readonly #calls = new Map<string, Call>()
	readonly #watched = new Map<string, number>()
	readonly #subscribers = new Set<(change: Change) => void>()
	readonly #announced = new Set<string>()
	#listed: readonly Conversation[] = []
	#running: AbortController | null = null
	#lastId = ''
	#loaded = false

	constructor(base: string, token: TokenSource) {
		this.api = new API(base, token)
	}

	subscribe(listener: (change: Change) => void): () => void {
		this.#subscribers.add(listener)
		return () => this.#subscribers.delete(listener)
	}

	#emit(change: Change): void {
		for (const listener of [...this.#subscribers]) listener(change)
	}

	/** loaded says whether the first snapshot is here. */
	get loaded(): boolean {
		return this.#loaded
	}

	question(id: string): Question | undefined {
		return this.#questions.get(id)
	}

	call(id: string): Call | undefined {
		return this.#calls.get(id)
	}

	server(id: string): Server | undefined {
		return this.servers.find((server) => server.id === id)
	}

	/** waiting lists the open questions of this person, oldest first. */
	waiting(): Question[] {
		return [...this.#questions.values()].filter(isOpen).sort((a, b) => order(a, b) || a.position - b.position)
	}

	/** callsOf lists the calls of a conversation, oldest first. */
	callsOf(conversation: string): Call[] {
		return [...this.#calls.values()].filter((call) => call.conversation === conversation).sort(order)
	}

	/** questionsOf lists the questions of a call in the order of its rounds. */
	questionsOf(call: string): Question[] {
		return [...this.#questions.values()].filter((question) => question.call === call)
			.sort((a, b) => a.round - b.round || a.position - b.position || order(a, b))
	}

	/**
	 * conversations lists those of this person, the latest first: what the server
	 * listed, and what its rows have told since.
	 */
	get conversations(): readonly Conversation[] {
		const all = new Map(this.#listed.map((one) => [one.id, { ...one, open_questions: 0 }]))
		for (const call of [...this.#calls.values()].sort(order)) {
			const one = all.get(call.conversation)
			// The oldest call names its conversation; the page may know later ones alone.
			if (!one) all.set(call.conversation, { id: call.conversation, title: call.title || call.name, updated_at: call.updated_at, open_questions: 0 })
			else if (Date.parse(call.updated_at) > Date.parse(one.updated_at)) one.updated_at = call.updated_at
		}
		for (const question of this.waiting()) {
			const one = all.get(question.conversation)
			if (one) one.open_questions++
		}
		return [...all.values()].sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at) || (a.id < b.id ? -1 : 1))
	}

	takeQuestion(question: Question): void {
		const known = this.#questions.get(question.id)
		if (known && known.version > question.version) return
		this.#questions.set(question.id, question)
		if (!known && isOpen(question)) this.#tell(question)
		this.#emit({ kind: 'question', id: question.id })
	}

	takeCall(call: Call): void {
		const known = this.#calls.get(call.id)
		if (known && known.version > call.version) return
		this.#calls.set(call.id, known ? filled(call, known) : call)
		for (const question of this.questionsOf(call.id)) {
			if (question.can_take_back && !mayTakeBack(question, call)) this.#questions.set(question.id, { ...question, can_take_back: false })
		}
		this.#emit({ kind: 'call', id: call.id })
		if (this.#watched.has(call.conversation)) {
			if (hasEnded(call) && known && !hasEnded(known)) announce(t('said.ended', { tool: toolCalled(call.title, call.name), server: call.server }))
		}
	}

	/** touch redraws a call whose view has news of its own. */
	touch(call: string): void {
		this.#emit({ kind: 'call', id: call })
	}

	// A new question is announced once, by name, wherever it is drawn.
	#tell(question: Question): void {
		if (this.#announced.has(question.id)) return
		this.#announced.add(question.id)
		if (this.#loaded) announce(t('said.asks', { server: question.server, message: question.message.slice(0, 200) }))
	}

	async loadQuestion(id: string): Promise<Question> {
		const question = await this.api.read<Question>(`/v1/questions/${encodeURIComponent(id)}`)
		this.takeQuestion(question)
		return question
	}

	async loadCall(id: string): Promise<Call> {
		const call = await this.api.read<Call>(`/v1/calls/${encodeURIComponent(id)}`)
		this.takeCall(call)
		return call
	}

	async loadServers(): Promise<void> {
		const { servers } = await this.api.read<{ servers: Server[] | null }>('/v1/servers')
		this.servers = servers ?? []
		this.#emit({ kind: 'servers' })
	}

	async loadTools(server: string): Promise<Tool[]> {
		const asked = this.api.read<{ tools: Tool[] | null }>(`/v1/servers/${encodeURIComponent(server)}/tools`)
		// Now it is known whether the server can be reached.
		const { tools } = await asked.finally(() => void this.loadServers().catch(() => undefined))
		this.#retitle(server, tools ?? [])
		return tools ?? []
	}

	// Rows that were drawn before their server's tools were listed have names only.
	#retitle(server: string, tools: readonly Tool[]): void {
		const titled = new Set(tools.filter((tool) => tool.title && tool.title !== tool.name).map((tool) => tool.name))
		const stale = [...this.#calls.values()].some((call) => call.server === server && call.title === call.name && titled.has(call.name))
		if (!stale && !this.#listed.some((one) => titled.has(one.title))) return
		void Promise.all([this.loadConversations(), ...[...this.#watched.keys()].map((id) => this.#loadConversation(id))]).catch(() => undefined)
	}

	async loadConversations(): Promise<void> {
		const { conversations } = await this.api.read<{ conversations: Conversation[] | null }>('/v1/conversations')
		this.#listed = conversations ?? []
		this.#emit({ kind: 'conversations' })
	}

	/** watch keeps a conversation loaded until the returned function is called. */
	watch(conversation: string): () => void {
		this.#watched.set(conversation, (this.#watched.get(conversation) ?? 0) + 1)
		if (this.#running) void this.#loadConversation(conversation).catch(() => undefined)
		return () => {
			const left = (this.#watched.get(conversation) ?? 1) - 1
			if (left > 0) this.#watched.set(conversation, left)
			else this.#watched.delete(conversation)
		}
	}

	async #loadConversation(id: string): Promise<void> {
		const { calls, questions } = await this.api.read<{ calls: Call[] | null; questions: Question[] | null }>(`/v1/conversations/${encodeURIComponent(id)}`)
		for (const question of questions ?? []) this.takeQuestion(question)
		for (const call of calls ?? []) this.takeCall(call)
		this.#emit({ kind: 'snapshot' })
	}

	async #loadSnapshot(): Promise<void> {
		const [session, open] = await Promise.all([
			this.api.read<Session>('/v1/session'),
			this.api.read<{ questions: Question[] | null }>('/v1/questions?state=open'),
			this.loadServers(),
			this.loadConversations(),
			...[...this.#watched.keys()].map((id) => this.#loadConversation(id)),
		])
		this.session = session
		this.#emit({ kind: 'session' })
		const still = new Set<string>()
		for (const question of open.questions ?? []) {
			still.add(question.id)
			this.takeQuestion(question)
		}
		// Open here but not there: it ended while the stream was cut.
		const ended = this.waiting().filter((question) => !still.has(question.id))
		await Promise.all(ended.map((question) => this.loadQuestion(question.id).catch(() => undefined)))
		this.#loaded = true
		this.#emit({ kind: 'snapshot' })
	}

	/** start opens the stream and keeps it open. Starting twice is harmless. */
	start(): void {
		if (this.#running) return
		const running = new AbortController()
		this.#running = running
		void this.#run(running.signal)
	}

	/** stop closes the stream, for good unless started again. */
	stop(): void {
		this.#running?.abort()
		this.#running = null
	}

	#set(connection: Connection): void {
		if (this.connection === connection) return
		const before = this.connection
		this.connection = connection
		if (connection === 'lost') announce(t('connection.lost'))
		if (connection === 'live' && before === 'lost') announce(t('connection.back'))
		this.#emit({ kind: 'connection' })
	}

	async #run(signal: AbortSignal): Promise<void> {
		let wait = firstWait
		let failures = 0
		while (!signal.aborted) {
			if (document.hidden && this.#loaded) await this.#whileHidden(signal)
			if (signal.aborted) return
			const parser = new EventParser()
			if (this.#loaded) parser.lastId = this.#lastId
			try {
				await this.#stream(parser, signal, () => { failures = 0 })
			} catch (error) {
				if (signal.aborted) return
				if (error instanceof Problem && (error.status === 401 || error.status === 403)) {
					this.#running = null
					this.#set('signed-out')
					return
				}
			}
			if (parser.retry !== null) wait = parser.retry
			if (document.hidden) continue
			this.#set('lost')
			const pause = Math.min(wait * 2 ** failures, longestWait)
			failures++
			// Not all pages of all people come back in the same moment.
			await patience(pause * (0.5 + Math.random() / 2), signal)
		}
	}

	async #stream(parser: EventParser, signal: AbortSignal, alive: () => void): Promise<void> {
		const cut = new AbortController()
		const abort = (): void => cut.abort()
		signal.addEventListener('abort', abort)
		let watchdog = window.setTimeout(abort, silence)
		let hidden = 0
		const visibility = (): void => {
			window.clearTimeout(hidden)
			if (document.hidden) hidden = window.setTimeout(abort, hiddenFor)
		}
		document.addEventListener('visibilitychange', visibility)
		visibility()
		try {
			const headers: Record<string, string> = { Accept: 'text/event-stream' }
			if (this.#loaded && this.#lastId) headers['Last-Event-ID'] = this.#lastId
			const response = await this.api.request('GET', '/v1/events', { headers, signal: cut.signal })
			if (!response.ok) throw new Problem(response.status, {})
			if (!response.body) throw new Unreachable()
			// A stream that goes on where it was cut says nothing until there is news.
			if (this.#loaded && this.#lastId) this.#set('live')
			const reader = response.body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>).getReader()
			for (;;) {
				const { done, value } = await reader.read()
				if (done) return
				alive()
				window.clearTimeout(watchdog)
				watchdog = window.setTimeout(abort, silence)
				const events = parser.push(value)
				for (const event of events) await this.#take(event)
				// Only now: after a failed snapshot the stream must begin anew.
				this.#lastId = parser.lastId
				if (this.#loaded) this.#set('live')
			}
		} finally {
			window.clearTimeout(watchdog)
			window.clearTimeout(hidden)
			document.removeEventListener('visibilitychange', visibility)
			signal.removeEventListener('abort', abort)
			cut.abort()
		}
	}

	async #take(event: StreamEvent): Promise<void> {
		switch (event.type) {
			case 'question': this.takeQuestion(parseExact(event.data) as Question); break
			case 'call': this.takeCall(parseExact(event.data) as Call); break
			case 'hello':
			case 'reset': {
				await this.#loadSnapshot()
				this.#set('live')
				break
			}
		}
	}

	// A hidden page holds no stream; it asks once a minute so that the count in
	// its title stays true, and continues the stream when it is seen again.
	async #whileHidden(signal: AbortSignal): Promise<void> {
		while (document.hidden && !signal.aborted) {
			await patience(hiddenPoll, signal)
			if (!document.hidden || signal.aborted) return
			await this.#loadSnapshot().catch(() => undefined)
		}
	}
}

/** mayTakeBack says whether a call, which may be ahead of the question's row, has not gone past the point where the answer can be taken back. */
export function mayTakeBack(question: Question, call: Call): boolean {
	if (call.state === 'sent') return call.held && question.held
	return question.round === call.round && (call.state === 'waiting' || call.state === 'ready' || call.state === 'claimed' || call.state === 'blocked')
}

function order(a: { created_at: string; id: string }, b: { created_at: string; id: string }): number {
	return Date.parse(a.created_at) - Date.parse(b.created_at) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

// patience waits, but not longer than until the page is seen or the network is back.
function patience(milliseconds: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const done = (): void => {
			window.clearTimeout(timer)
			window.removeEventListener('online', done)
			document.removeEventListener('visibilitychange', seen)
			signal.removeEventListener('abort', done)
			resolve()
		}
		const seen = (): void => { if (!document.hidden) done() }
		const timer = window.setTimeout(done, milliseconds)
		window.addEventListener('online', done)
		document.addEventListener('visibilitychange', seen)
		signal.addEventListener('abort', done)
	})
}

const shared = new Map<string, Store>()

/** sharedStore is the page's one store for a Parley at base. The first caller's token source is used. */
export function sharedStore(base: string, token: TokenSource): Store {
	let store = shared.get(base)
	if (!store) {
		store = new Store(base, token)
		shared.set(base, store)
	}
	return store
}

// What was fetched whole stays: arguments and the end of a call do not change,
// and the rows that come with events leave out what is large.
function filled(call: Call, known: Call): Call {
	const kept = { ...call }
	if (call.arguments_size && known.arguments !== null) [kept.arguments, kept.arguments_size] = [known.arguments, 0]
	if (call.result_size && known.result !== null) [kept.result, kept.result_size] = [known.result, 0]
	if (call.error_size && known.error !== null) [kept.error, kept.error_size] = [known.error, 0]
	return kept
}

// Event streams read with fetch: EventSource cannot send Authorization.
// Parsing follows html.spec.whatwg.org/multipage/server-sent-events.html 9.2.6.

export type StreamEvent = { id: string; type: string; data: string }

/** EventParser turns the pieces of a stream into events. A piece may end anywhere, also between CR and LF. */
export class EventParser {
	/** The id of the last event, sent as Last-Event-ID after a cut. */
	lastId = ''
	/** What the stream asks us to wait before connecting again, in milliseconds. */
	retry: number | null = null
	#rest = ''
	#skipLF = false
	#type = ''
	#data: string[] = []
	#id: string | null = null

	push(piece: string): StreamEvent[] {
		const events: StreamEvent[] = []
		let text = this.#rest + piece
		if (this.#skipLF && text.startsWith('\n')) text = text.slice(1)
		if (text !== '') this.#skipLF = false
		let start = 0
		for (;;) {
			const end = nextBreak(text, start)
			if (end < 0) break
			const event = this.#line(text.slice(start, end))
			if (event) events.push(event)
			start = end + 1
			if (text[end] === '\r') {
				if (start === text.length) this.#skipLF = true
				else if (text[start] === '\n') start++
			}
		}
		this.#rest = text.slice(start)
		return events
	}

	#line(line: string): StreamEvent | null {
		if (line === '') return this.#dispatch()
		if (line.startsWith(':')) return null
		const colon = line.indexOf(':')
		const field = colon < 0 ? line : line.slice(0, colon)
		let value = colon < 0 ? '' : line.slice(colon + 1)
		if (value.startsWith(' ')) value = value.slice(1)
		switch (field) {
			case 'event': this.#type = value; break
			case 'data': this.#data.push(value); break
			case 'id': if (!value.includes('\0')) this.#id = value; break
			case 'retry': if (/^\d+$/.test(value)) this.retry = Number(value); break
		}
		return null
	}

	#dispatch(): StreamEvent | null {
		if (this.#id !== null) this.lastId = this.#id
		const type = this.#type || 'message'
		const data = this.#data
		this.#type = ''
		this.#data = []
		return data.length === 0 ? null : { id: this.lastId, type, data: data.join('\n') }
	}
}

function nextBreak(text: string, from: number): number {
	for (let i = from; i < text.length; i++) if (text[i] === '\n' || text[i] === '\r') return i
	return -1
}

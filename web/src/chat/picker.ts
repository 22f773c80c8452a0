// Without a model the person picks the tool: server, tool, arguments.

import { bdi, el, fill, foreign, keepFocus, randomId, type Child } from '../lib/dom'
import { Problem, sentence } from '../lib/api'
import type { Store } from '../lib/store'
import { rich, t, toolCalled } from '../lib/text'
import type { Call, Server, Tool } from '../lib/wire'
import { changeNode } from '../card/change'
import { Form, stopNotice } from '../form/form'
import { SignInCard } from '../card/signin'

export type PickerOptions = {
	store: Store
	root: ShadowRoot
	/** The conversation that the call becomes part of. */
	conversation: () => string
	/** Told when a call was made. */
	ran: (call: Call) => void
}

type Tools = { state: 'loading' } | { state: 'failed'; text: string; signIn: boolean } | { state: 'here'; tools: readonly Tool[] }

export class Picker {
	readonly node = el('section', { class: 'picker', 'aria-label': t('picker.title') })
	readonly #options: PickerOptions
	readonly #tools = new Map<string, Tools>()
	readonly #signIns = new Map<string, string>()
	readonly #cards = new Map<string, SignInCard>()
	#server = ''
	#tool: Tool | null = null
	#form: Form | null = null
	#filter = ''
	#busy = false
	#notice = ''
	#attempt = { payload: '', key: '' }
	#shape = ''
	#open = true
	#first = true

	constructor(options: PickerOptions) {
		this.#options = options
	}

	/** fold hides the picker behind a button, as long as nothing is picked. */
	fold(): void {
		if (!this.#tool) this.#open = false
	}

	/** update draws what changed; call it inside keepFocus. first says that the conversation is empty. */
	update(first = this.#first): void {
		this.#first = first
		const { servers } = this.#options.store
		for (const { id, sign_in } of servers) {
			// Somebody has signed in to it, perhaps in another tab.
			if (this.#signIns.get(id) === 'needed' && sign_in === 'done') {
				this.#tools.delete(id)
				this.#cards.delete(id)
			}
			this.#signIns.set(id, sign_in)
		}
		if (!servers.some((server) => server.id === this.#server)) {
			this.#server = servers[0]?.id ?? ''
			this.#form?.clear()
			this.#tool = null
		}
		if (this.#server) this.#load(this.#server)
		const tools = this.#tools.get(this.#server)
		const shape = JSON.stringify([servers, this.#server, tools, this.#tool?.name, this.#busy, this.#notice, this.#open, first, this.#options.store.loaded])
		if (shape === this.#shape) return
		this.#shape = shape
		this.node.classList.toggle('folded', !this.#open)
		if (!this.#open) {
			fill(this.node, el('button', { type: 'button', id: 'another', 'data-action': 'another', on: { click: () => this.#unfold() } }, t('picker.another')))
			return
		}
		fill(this.node, this.#tool ? null : el('h2', { id: 'picker-title', tabIndex: -1 }, t(first ? 'picker.title' : 'picker.another')), this.#body(servers, tools))
		if (!this.#tool) this.#narrow()
	}

	#unfold(): void {
		this.#open = true
		this.#redraw()
		this.node.querySelector<HTMLElement>('h2')?.focus({ preventScroll: true })
		this.node.scrollIntoView({ block: 'nearest' })
	}

	#redraw(): void {
		keepFocus(this.#options.root, () => this.update())
	}

	#load(server: string, again = false): void {
		if (this.#tools.has(server) && !again) return
		this.#tools.set(server, { state: 'loading' })
		this.#options.store.loadTools(server).then(
			(tools) => this.#tools.set(server, { state: 'here', tools }),
			(error: unknown) => this.#tools.set(server, { state: 'failed', text: sentence(error), signIn: error instanceof Problem && error.code === 'sign_in' }),
		).finally(() => this.#redraw())
	}

	/** retry asks again for the tools of servers that could not be reached. */
	retry(): void {
		for (const [server, tools] of this.#tools) if (tools.state === 'failed') this.#tools.delete(server)
	}

	#body(servers: readonly Server[], tools: Tools | undefined): Child {
		if (servers.length === 0) return el('p', null, this.#options.store.loaded ? t('picker.no-servers') : t('loading'))
		if (this.#tool) return this.#arguments(this.#tool)
		return [
			el('p', { class: 'hint' }, t('picker.no-model')),
			servers.length > 1 ? this.#serverChoice(servers) : el('p', { class: 'one-server' }, rich('picker.server-one', { server: servers[0]?.id ?? '' })),
			this.#toolList(tools),
		]
	}

	#serverChoice(servers: readonly Server[]): Child {
		return el('fieldset', { class: 'servers' }, el('legend', null, t('picker.server')), el('div', { class: 'segments' }, servers.map((server) => {
			const id = `server-${encodeURIComponent(server.id)}`
			return el('div', { class: 'segment' },
				el('input', {
					type: 'radio', name: 'server', id, value: server.id, checked: server.id === this.#server, on: {
						change: () => {
							this.#server = server.id
							this.#filter = ''
							this.#redraw()
						},
					},
				}),
				el('label', { for: id }, bdi(server.id), server.status === 'failed' || server.status === 'sign_in' ? el('span', { class: 'quiet' }, ' ', t(`server.${server.status}`)) : null))
		})))
	}

	#toolList(tools: Tools | undefined): Child {
		if (!tools || tools.state === 'loading') return el('p', { class: 'quiet', role: 'status' }, t('picker.loading', { server: this.#server }))
		if (tools.state === 'failed') {
			if (tools.signIn && this.#options.store.servers.some((server) => server.id === this.#server && server.can_sign_in)) {
				const card = this.#cards.get(this.#server) ?? new SignInCard(this.#options.store, this.#server, 'chat')
				this.#cards.set(this.#server, card)
				return el('div', { class: 'notice' }, el('p', null, tools.text), card.node)
			}
			return el('div', { class: 'notice bad' }, el('p', null, tools.text), el('button', {
				type: 'button', 'data-action': 'retry-tools', on: {
					click: () => {
						this.#load(this.#server, true)
						this.#redraw()
					},
				},
			}, t('picker.retry')))
		}
		if (tools.tools.length === 0) return el('p', null, rich('picker.no-tools', { server: this.#server }))
		const box = el('input', {
			type: 'search', id: 'tool-filter', autocomplete: 'off', spellcheck: false, value: this.#filter, on: {
				input: () => {
					this.#filter = box.value
					this.#narrow()
				},
			},
		})
		const changed = tools.tools.filter((tool) => tool.changed)
		return [
			this.#notice ? el('p', { class: 'notice bad', role: 'alert' }, this.#notice) : null,
			changed.length > 0 ? el('div', { class: 'actions' }, el('button', { type: 'button', id: 'seen-all', 'data-action': 'seen-all', on: { click: () => void this.#seen(changed) } }, t('picker.seen-all', { n: changed.length }))) : null,
			tools.tools.length > 5 ? el('div', { class: 'field' }, el('label', { class: 'label', for: box.id }, t('picker.find')), box) : null,
			el('ul', { class: 'tools', role: 'list', 'aria-label': t('picker.tools', { server: this.#server }) }, tools.tools.map((tool) => {
				const titled = tool.title !== '' && tool.title !== tool.name
				const id = toolId(tool)
				return el('li', { 'data-tool': tool.name }, el('button', { type: 'button', id, 'aria-describedby': tool.description ? `${id}-about` : undefined, on: { click: () => this.#choose(tool) } },
					el('span', { class: 'tool-title' }, bdi(tool.title || tool.name)),
					titled ? [' ', el('code', { class: 'value', dir: 'ltr' }, tool.name)] : null),
				tool.changed ? el('p', { class: 'badge' }, t(tool.change?.new ? 'picker.new' : 'picker.changed')) : null,
				tool.description ? el('p', { class: 'foreign about', dir: 'auto', id: `${id}-about` }, tool.description) : null)
			})),
			el('p', { class: 'hint', role: 'status', 'data-part': 'found' }),
		]
	}

	// What the person has seen is recorded as it was shown: the server may change it again meanwhile.
	async #see(tools: readonly Tool[]): Promise<void> {
		const body = { tools: tools.map(({ name, fingerprint }) => ({ name, fingerprint })) }
		try {
			await this.#options.store.api.write(`/v1/servers/${encodeURIComponent(this.#server)}/tools/seen`, { via: 'chat', body })
			for (const tool of tools) {
				tool.changed = false
				tool.change = null
			}
			this.#notice = ''
		} catch (error) {
			this.#notice = sentence(error)
		}
		this.#redraw()
	}

	async #seen(tools: readonly Tool[]): Promise<void> {
		await this.#see(tools)
		this.node.querySelector<HTMLElement>(this.#tool ? '#tool-heading' : '#picker-title')?.focus()
	}

	#narrow(): void {
		const words = this.#filter.toLocaleLowerCase().split(/\s+/).filter(Boolean)
		const items = [...this.node.querySelectorAll<HTMLElement>('[data-tool]')]
		let shown = 0
		for (const item of items) {
			const text = (item.textContent ?? '').toLocaleLowerCase()
			item.hidden = !words.every((word) => text.includes(word))
			if (!item.hidden) shown++
		}
		const status = this.node.querySelector('[data-part="found"]')
		if (status) status.textContent = words.length > 0 ? t('choice.shown', { n: shown, total: items.length }) : ''
	}

	#choose(tool: Tool | null): void {
		const before = this.#tool
		this.#form?.clear() // while the page hears of it
		this.#tool = tool
		this.#notice = ''
		this.#form = tool ? new Form({ view: tool.view, server: '' }) : null
		this.#redraw()
		const target = tool ? this.node.querySelector<HTMLElement>('#tool-heading') : this.node.querySelector<HTMLElement>(`#${CSS.escape(before ? toolId(before) : '')}`)
		target?.focus()
	}

	#arguments(tool: Tool): Child {
		const form = this.#form ??= new Form({ view: tool.view, server: '' })
		return el('form', {
			noValidate: true, autocomplete: 'off', class: 'arguments', on: {
				submit: (event) => {
					event.preventDefault()
					if (!this.#busy) void this.#run(tool, form)
				},
				keydown: (event) => {
					if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) (event.currentTarget as HTMLFormElement).requestSubmit()
				},
			},
		},
		el('h2', { id: 'tool-heading', tabIndex: -1 }, bdi(tool.title || tool.name), ' ', el('span', { class: 'quiet' }, rich('picker.on', { server: this.#server })),
			tool.title && tool.title !== tool.name ? [' ', el('code', { class: 'value', dir: 'ltr' }, tool.name)] : null),
		tool.description ? foreign('p', tool.description, 'about') : null,
		this.#notice ? el('p', { class: 'notice bad', role: 'alert' }, this.#notice) : null,
		changeNode(tool.change, 'change.tool'),
		tool.changed ? el('div', { class: 'actions' }, el('button', { type: 'button', id: 'seen', 'data-action': 'seen', on: { click: () => void this.#seen([tool]) } }, t('picker.seen'))) : null,
		tool.view.fields?.length ? null : el('p', { class: 'quiet' }, t('picker.no-arguments')),
		form.node,
		form.stopped ? stopNotice(form.stopped) : null,
		el('div', { class: 'actions' },
			form.stopped ? null : el('button', { type: 'submit', class: 'primary', id: 'run', 'data-action': 'run', 'aria-disabled': this.#busy ? 'true' : null }, this.#busy ? t('picker.running') : rich('picker.run', { tool: toolCalled(tool.title, tool.name) })),
			el('button', { type: 'button', id: 'other-tool', 'data-action': 'other-tool', on: { click: () => this.#choose(null) } }, t('picker.other'))))
	}

	async #run(tool: Tool, form: Form): Promise<void> {
		const own = form.ownErrors()
		if (own.length > 0) return form.fail(own)
		const body = { conversation: this.#options.conversation(), server: this.#server, tool: tool.name, input: form.input() }
		// A call must not run twice because its reply was lost.
		const payload = JSON.stringify(body)
		if (this.#attempt.payload !== payload) this.#attempt = { payload, key: randomId(16) }
		this.#busy = true
		this.#notice = ''
		form.clear()
		this.#redraw()
		let problem: Problem | null = null
		try {
			const call = await this.#options.store.api.write<Call>('/v1/calls', { via: 'chat', body, key: this.#attempt.key })
			this.#attempt = { payload: '', key: '' }
			if (tool.changed) void this.#see([tool]) // it was on the page that they sent it from
			this.#tool = null
			this.#form = null
			this.#filter = ''
			this.#open = false
			this.#options.store.takeCall(call)
			this.#options.ran(call)
		} catch (error) {
			if (error instanceof Problem && error.status === 422 && error.errors.length > 0) problem = error
			else this.#notice = sentence(error)
		} finally {
			this.#busy = false
			this.#redraw()
			if (problem) form.fail(problem.errors)
		}
	}
}

// Ids hold no spaces: aria-describedby is a list of them.
function toolId(tool: Tool): string {
	return `tool-${encodeURIComponent(tool.name)}`
}

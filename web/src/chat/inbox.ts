// <parley-inbox>: every open question and permission that waits for this person,
// oldest first, whatever conversation it belongs to. What is answered here stays
// as its record until the page is left, so that nothing vanishes under the reader.

import { el, fill, keepFocus, shadow, type Child } from '../lib/dom'
import { StoreElement } from '../lib/element'
import type { Store } from '../lib/store'
import { rich, t, toolCalled } from '../lib/text'
import type { Approval, Question } from '../lib/wire'
import type { ParleyApproval } from '../card/approval'
import type { ParleyQuestion } from '../card/question'
import { Refusals } from './refusals'
import base from '../lib/base.css'
import css from './chat.css'

const assignedPoll = 30_000 // members of a group get no event of what is assigned to it

/** waitingWords says how much waits for the person, such as "2 questions waiting". */
export function waitingWords(store: Store): { n: number; words: string } {
	const questions = store.waiting().length
	const permissions = store.deciding().length
	const n = questions + permissions
	if (permissions === 0) return { n, words: t(questions === 0 ? 'inbox.none' : 'inbox.waiting', { n: questions }) }
	const decide = t('inbox.permissions', { n: permissions })
	return { n, words: questions === 0 ? decide : t('inbox.both', { questions: t('inbox.waiting', { n: questions }), permissions: decide }) }
}

export class ParleyInbox extends StoreElement {
	readonly #root: ShadowRoot
	#leave: (() => void) | null = null
	#poll = 0
	#refusals = new Refusals(null)
	readonly #items = new Map<string, HTMLElement>()
	readonly #title = el('h1', { tabIndex: -1 })
	readonly #list = el('div', { class: 'questions' })
	readonly #note = el('p', { class: 'quiet' })

	constructor() {
		super()
		this.#root = shadow(this, base, css)
	}

	connectedCallback(): void {
		this.takeEarlyProperties()
		this.#refusals = new Refusals(this.store)
		this.#leave = this.subscribe(({ kind }) => {
			if (kind === 'question' || kind === 'approval' || kind === 'snapshot' || kind === 'refusals') this.#render()
		})
		this.store.start()
		this.#poll = window.setInterval(() => {
			if (!document.hidden && !this.store.bound && this.store.connection === 'live') void this.store.loadAsking().catch(() => undefined)
		}, assignedPoll)
		fill(this.#root, el('div', { class: 'inbox' }, this.#title, this.#note, this.#refusals.node, this.#list))
		this.#render()
	}

	disconnectedCallback(): void {
		this.#leave?.()
		this.#leave = null
		window.clearInterval(this.#poll)
	}

	#render(): void {
		const { store } = this
		this.#title.textContent = store.loaded ? waitingWords(store).words : t('loading')
		this.#note.textContent = t('inbox.about')
		keepFocus(this.#root, () => this.#refusals.update())
		const waiting = [...store.waiting().map((question) => ({ question, created: question.created_at })), ...store.asking().map((approval) => ({ approval, created: approval.created_at }))]
		waiting.sort((a, b) => Date.parse(a.created) - Date.parse(b.created))
		for (const one of waiting) {
			const row = 'question' in one ? one.question : one.approval
			if (this.#items.has(row.id)) continue
			const item = 'question' in one ? this.#item('question', one.question, one.question.conversation) : this.#item('approval', one.approval, one.approval.conversation)
			this.#items.set(row.id, item)
			this.#list.append(item)
		}
	}

	#item(kind: 'question' | 'approval', row: Question | Approval, conversation: string): HTMLElement {
		const card = document.createElement(`parley-${kind}`) as ParleyApproval | ParleyQuestion
		card.store = this.store
		card.via = 'inbox'
		card.setAttribute(`${kind}-id`, row.id)
		const show = (): Child => el('button', {
			type: 'button', class: 'link', on: {
				click: () => this.dispatchEvent(new CustomEvent('parley-show', { bubbles: true, composed: true, detail: { conversation, call: row.call } })),
			},
		}, t('inbox.show'))
		return el('div', { class: 'item' },
			el('div', { class: 'context' },
				el('h2', null, conversation || !('asker' in row) ? rich('inbox.context', { tool: toolCalled(row.tool_title, row.tool) }) : rich('inbox.of-others', { who: row.asker.subject })),
				conversation ? show() : null), // a call of somebody else is not in this person's conversations
			card)
	}
}

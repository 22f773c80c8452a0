// What a person was not shown: questions over a limit, or against the policy. They are told how
// many, and can stop everything that the server still does for them.

import { bdi, el, fill, type Child } from '../lib/dom'
import { sentence } from '../lib/api'
import { announce } from '../lib/announce'
import type { Store } from '../lib/store'
import { rich, t, when } from '../lib/text'
import type { Refusal, Via } from '../lib/wire'

export class Refusals {
	readonly node = el('section', { class: 'refusals', hidden: true, tabIndex: -1, 'aria-label': t('refusals.title'), 'data-part': 'refusals' })
	readonly #store: Store | null
	readonly #via: Via
	#notice: { text: string; bad: boolean } | null = null
	#busy = false
	#shape = ''

	constructor(store: Store | null, via: Via) {
		this.#store = store
		this.#via = via
	}

	/** update draws what changed; call it inside keepFocus. */
	update(): void {
		const refusals = this.#store?.refusals ?? []
		const may = this.#store?.may('answer') ?? false
		const shape = JSON.stringify([refusals, may, this.#notice])
		if (shape === this.#shape) return
		this.#shape = shape
		this.node.hidden = refusals.length === 0 && !this.#notice
		fill(this.node,
			this.#notice ? el('p', { class: this.#notice.bad ? 'notice bad' : 'notice', role: this.#notice.bad ? 'alert' : 'note' }, this.#notice.text) : null,
			refusals.map((one) => this.#row(one, may)))
	}

	#row(one: Refusal, may: boolean): Child {
		const id = encodeURIComponent(one.server)
		return el('div', { class: 'warning', 'data-refusal': one.server },
			el('p', null, rich('refusals.text', { n: one.count, server: one.server }), ' ', t('refusals.since', { at: when(one.since) })),
			may ? el('div', { class: 'actions' },
				el('button', { type: 'button', id: `refusals-stop-${id}`, 'data-action': 'stop-server', on: { click: () => void this.#do(() => this.#stop(one.server)) } }, rich('refusals.stop', { server: one.server })),
				el('button', { type: 'button', id: `refusals-clear-${id}`, 'data-action': 'clear-refusals', on: { click: () => void this.#do(() => this.#clear(one.server)) } },
					t('refusals.clear'), el('span', { class: 'away' }, ' (', bdi(one.server), ')'))) : null)
	}

	async #stop(server: string): Promise<void> {
		const { stopped } = await this.#api.write<{ stopped: number }>(`/v1/servers/${encodeURIComponent(server)}/stop`, { via: this.#via })
		const text = t('refusals.stopped', { n: stopped, server })
		this.#notice = { text, bad: false }
		announce(text)
		await this.#clear(server)
	}

	async #clear(server: string): Promise<void> {
		await this.#api.write('/v1/refusals/clear', { via: this.#via, body: { server } })
	}

	get #api(): Store['api'] {
		if (!this.#store) throw new Error('the element is not in the page yet')
		return this.#store.api
	}

	async #do(work: () => Promise<void>): Promise<void> {
		if (this.#busy) return
		this.#busy = true
		this.#notice = null
		try {
			await work()
		} catch (error) {
			this.#notice = { text: sentence(error), bad: true }
		}
		this.#busy = false
		await this.#store?.loadRefusals().catch(() => undefined)
		this.update()
		// The button is gone with what it was about.
		if (!this.node.hidden) this.node.focus({ preventScroll: true })
	}
}

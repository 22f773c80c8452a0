// <parley-signed-in>: the end of a sign-in to a server. What the address holds goes to
// the API once, with whatever signs the person in here: the bearer of this origin, or
// the browser's own session. The API knows the person before it takes the state.

import { el, fill, shadow, type Child } from '../lib/dom'
import { API, Problem, sentence, Unreachable } from '../lib/api'
import { rich, t } from '../lib/text'
import { SignInCard } from '../card/signin'
import { token } from './token'
import base from '../lib/base.css'
import css from './app.css'

type Result = {
	readonly server: string
	readonly outcome: 'done' | 'denied' | 'other_account'
	readonly account?: string
	readonly before?: string
	readonly decision?: string
	readonly missing: readonly string[]
	readonly resumed: number
}

export class ParleySignedIn extends HTMLElement {
	readonly #root = shadow(this, base, css)
	readonly #main = el('main', { id: 'main', tabIndex: -1, 'aria-live': 'polite' })
	readonly #api = new API('', token)
	#lost = false // an answer was lost: what was asked for may still be under way
	#reply: { readonly [name: string]: string } = {}

	connectedCallback(): void {
		const query = new URLSearchParams(location.search)
		this.#reply = Object.fromEntries(['state', 'code', 'iss', 'error'].map((name) => [name, query.get(name) ?? '']))
		// The code is of no use to whoever looks into the history later.
		history.replaceState(null, '', location.pathname)
		fill(this.#root, el('header', null, el('a', { class: 'brand', href: '/' }, el('span', { class: 'logo', 'aria-hidden': 'true' }), t('product'))), el('div', { class: 'columns alone' }, this.#main))
		void this.#finish()
	}

	async #finish(): Promise<void> {
		if (!this.#reply['state']) {
			this.#show('bad', t('server-sign-in.empty'))
			return
		}
		this.#show('busy', t('server-sign-in.busy'))
		await this.#ask('/v1/servers/sign-in/callback', this.#reply)
	}

	async #ask(path: string, body: object): Promise<void> {
		try {
			this.#result(await this.#api.write<Result>(path, { via: 'chat', body }))
		} catch (error) {
			this.#failed(error, () => void this.#ask(path, body))
		}
	}

	// What time will mend is tried again, and what has failed is begun anew.
	#failed(error: unknown, again: () => void): void {
		const problem = error instanceof Problem ? error : null
		// Nobody is signed in here: the sign-in to the server still waits.
		const out = problem?.status === 401
		// Nor does a proxy's page, or that it took too long, say what was done.
		const cut = error instanceof Unreachable || problem !== null && (problem.code === 'timeout' || problem.code === '' && problem.status >= 500)
		this.#lost ||= cut
		const passes = out || cut || problem?.code === 'unavailable' || problem?.code === 'sign_in_over' && this.#lost
		const server = problem?.code === 'sign_in_failed' ? problem.params['server'] : null
		this.#show('bad', out ? t('server-sign-in.out') : sentence(error),
			passes ? el('button', { type: 'button', 'data-action': 'again', on: { click: again } }, t('server-sign-in.again')) : null,
			typeof server === 'string' && server !== '' ? new SignInCard({ api: this.#api }, server, 'chat').node : null)
	}

	#result(result: Result): void {
		const server = result.server
		if (result.outcome === 'denied') this.#show('quiet', rich('server-sign-in.denied', { server }))
		else if (result.outcome === 'other_account') {
			const choose = (replace: boolean): void => void this.#ask(`/v1/servers/${encodeURIComponent(server)}/account`, { decision: result.decision ?? '', replace })
			this.#show('asks', rich('server-sign-in.other', { server, account: result.account || t('server-sign-in.unknown'), before: result.before || t('server-sign-in.unknown') }),
				el('button', { type: 'button', 'data-action': 'keep', on: { click: () => choose(false) } }, t('server-sign-in.keep')),
				el('button', { type: 'button', 'data-action': 'replace', on: { click: () => choose(true) } }, t('server-sign-in.replace')))
		} else {
			this.#show('good', [rich(result.account ? 'server-sign-in.done.as' : 'server-sign-in.done', { server, account: result.account ?? '' }),
				result.resumed > 0 ? [' ', t('server-sign-in.resumed', { n: result.resumed })] : null,
				result.missing.length > 0 ? [' ', t('server-sign-in.missing', { scopes: result.missing.join(', ') })] : null])
		}
	}

	#show(outcome: string, words: Child, ...actions: Child[]): void {
		fill(this.#main, el('section', { class: 'signed-out', 'data-part': 'server-sign-in', 'data-outcome': outcome },
			el('h1', null, t('server-sign-in.title')),
			el('p', null, words),
			el('div', { class: 'actions' }, actions, outcome === 'busy' ? null : el('a', { class: 'button', href: '/', 'data-action': 'back' }, t('server-sign-in.back')))))
	}
}

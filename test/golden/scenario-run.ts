/** One scenario against a server: its namespace, its steps, and what must be deleted afterwards. */
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiConnection, type Headers, headersOf, textOf } from './api-connection.ts'
import { firstDifference } from './compare-answers.ts'
import { type Fields, isFields, type Json, parseExactly } from './exact-json.ts'
import { columnsOf, columnsOfFirstEvent, Normalizer } from './normalizer.ts'
import type { Answer, Scenario, Step } from './scenario.ts'
import { filled, lookUp, picked } from './value-paths.ts'

/** Larger bodies test limits, and name nothing that an answer could repeat. */
const rememberedBytes = 1 << 20
const retryEveryMs = 100
/** What was waited for may take longer on a busy machine than it took when it was recorded. */
const lookAgainMs = 15_000
const patientSeconds = 30

export type RunOptions = {
  /** Steps that are repeated until something is true give up after this, where the recording would allow longer. */
  retrySecondsAtMost?: number
  /** Nothing is expected: what comes is written down. */
  record?: boolean
}

export class ScenarioRun {
  readonly #api: ApiConnection
  readonly #scenario: Scenario
  readonly #options: RunOptions
  readonly #namespace: string
  readonly #names: Record<string, Json>
  readonly #normalizer: Normalizer
  readonly #created: string[] = []
  readonly #isNamespaced: boolean

  constructor(api: ApiConnection, scenario: Scenario, options: RunOptions = {}) {
    this.#api = api
    this.#scenario = scenario
    this.#options = options
    const key = createHash('sha256').update(scenario.id).digest('hex').slice(0, 6) + randomBytes(2).toString('hex')
    this.#namespace = `ns-${key}`
    this.#names = { NS: this.#namespace, ID: `id-${key}` }
    this.#normalizer = new Normalizer({ '${NS}': `ns-${key}`, '${ID}': `id-${key}` })
    this.#isNamespaced = /\$\{NS\}/.test(JSON.stringify(scenario.steps))
  }

  /** The answers in the order of the steps; whatever was created is gone once it ends. */
  async *answers(): AsyncGenerator<[Step, Answer]> {
    try {
      await this.#begin()
      for (const step of this.#scenario.steps) yield [step, await this.#play(step)]
    } finally {
      await this.#clean()
    }
  }

  async #begin(): Promise<void> {
    if (!this.#isNamespaced) return
    const metadata = { name: this.#namespace, labels: this.#scenario.namespaceLabels ?? {} }
    await this.#call('POST', '/api/v1/namespaces', { metadata })
    // A service account controller may be faster than we are; then this is a conflict, and just as good.
    if (this.#scenario.serviceAccount)
      await this.#call('POST', `/api/v1/namespaces/${this.#namespace}/serviceaccounts`, { metadata: { name: 'default' } })
  }

  async #play(given: Step): Promise<Answer> {
    const step = given.pick === undefined ? given : { ...given, pick: filled(given.pick, this.#names) }
    if (step.wait !== undefined) await sleep(step.wait * 1000)
    const path = filled(step.path, this.#names).replace(/[^\w.\-~/?&=%:+,;@!*'()$]/gu, encodeURIComponent)
    const headers = filled(step.headers ?? {}, this.#names)
    if (step.watch) return this.#watch(step, path, headers)
    let data: string | undefined
    if (step.rawBody !== undefined) data = filled(step.rawBody, this.#names)
    if (step.body !== undefined) data = JSON.stringify(filled(step.body, this.#names))
    if (data !== undefined && data.length < rememberedBytes) this.#normalizer.given += data
    const method = step.method ?? 'GET'
    const isLook = method === 'GET' && step.wait !== undefined && step.expect !== undefined && !this.#options.record
    for (const untilMs = Date.now() + (isLook ? lookAgainMs : 0); ; await sleep(retryEveryMs)) {
      const reply = await this.#ask(step, method, path, headers, data)
      const body = asJson(reply.body)
      const forget = this.#normalizer.mark()
      const answer = this.#normalizer.answer(reply.status, reply.headers, body, step)
      if (Date.now() < untilMs && firstDifference(step.expect as Json, answer as Json) !== undefined) {
        forget()
        continue
      }
      for (const [name, source] of Object.entries(step.capture ?? {})) this.#names[name] = lookUp(body, source) ?? null
      this.#remember(method, path, reply.status, body)
      return answer
    }
  }

  /** Repeats the request where the step says so, until the status is right and there is something to pick. */
  async #ask(step: Step, method: string, path: string, headers: Headers, data: string | undefined) {
    const seconds = Math.min(step.retry?.seconds ?? 0, this.#options.retrySecondsAtMost ?? Number.POSITIVE_INFINITY)
    const deadline = Date.now() + seconds * 1000
    for (;;) {
      const reply = await this.#api.request(method, path, headers, data)
      if (step.retry === undefined || Date.now() >= deadline) return reply
      const isFound = step.pick === undefined || (picked(asJson(reply.body), step.pick) ?? null) !== null
      if (reply.status === step.retry.status && isFound) return reply
      await sleep(retryEveryMs)
    }
  }

  /** Opens the watch, plays the `during` steps, then reads until enough events have come or none for so many seconds. */
  async #watch(step: Step, path: string, headers: Headers): Promise<Answer> {
    const { events: wanted = Number.POSITIVE_INFINITY, seconds: recordedSeconds = 10 } = step.until ?? {}
    // Where the last event is known, neither side gives up before a busy server had its time.
    const isKnown = (step.expect?.events?.length ?? 0) >= wanted
    const seconds = isKnown ? Math.max(recordedSeconds, patientSeconds) : recordedSeconds
    const patientPath = isKnown ? path.replace(/\btimeoutSeconds=\d+/, `timeoutSeconds=${2 * patientSeconds}`) : path
    const response = await this.#api.open('GET', patientPath, headers, undefined, {})
    try {
      for (const inner of step.during ?? []) await this.#play(inner)
      const status = response.statusCode ?? 0
      if (status !== 200) return this.#normalizer.answer(status, headersOf(response), asJson(await textOf(response)), step)
      const events: Json[] = []
      let columns: string[] = []
      if (wanted > 0) {
        for await (const line of linesOf(response, seconds * 1000)) {
          const event = asJson(line)
          const object = isFields(event) ? event['object'] : undefined
          if (isFields(object) && object['kind'] === 'Table') {
            const named = columnsOf(object)
            if (named.length > 0) columns = named
            object[columnsOfFirstEvent] = columns
          }
          if (events.push(this.#normalizer.tree(event)) >= wanted) break
        }
      }
      return { ...this.#normalizer.answer(200, headersOf(response), null, { path, compare: 'status' }), events }
    } finally {
      response.destroy()
    }
  }

  #remember(method: string, path: string, status: number, body: Json): void {
    const [plain = '', query = ''] = path.split('?')
    if (status !== 201 || query.includes('dryRun') || !isFields(body)) return
    const name = lookUp(body, 'metadata.name')
    const isSubresource = plain.endsWith(`/${name}/${plain.slice(plain.lastIndexOf('/') + 1)}`)
    if (method !== 'POST') this.#created.push(plain)
    else if (name && !isSubresource) this.#created.push(`${plain}/${name}`)
  }

  async #clean(): Promise<void> {
    for (const path of this.#created.reverse()) {
      const body = await this.#call('DELETE', `${path}?gracePeriodSeconds=0`, { propagationPolicy: 'Background' })
      if (/^\/api\/v1\/namespaces\/[^/]+$/.test(path)) await this.#finalize(path)
      else if (lookUp(body, 'metadata.finalizers'))
        await this.#call('PATCH', path, { metadata: { finalizers: null } }, { 'Content-Type': 'application/merge-patch+json' })
    }
    if (!this.#isNamespaced) return
    const path = `/api/v1/namespaces/${this.#namespace}`
    await this.#call('DELETE', path)
    await this.#finalize(path)
  }

  /** Lets the namespace go even where no namespace controller runs. */
  #finalize(path: string): Promise<Json> {
    const name = path.slice(path.lastIndexOf('/') + 1)
    return this.#call('PUT', `${path}/finalize`, { metadata: { name }, spec: { finalizers: [] } })
  }

  async #call(method: string, path: string, body?: Fields, headers: Headers = {}): Promise<Json> {
    return asJson((await this.#api.request(method, path, headers, body === undefined ? undefined : JSON.stringify(body))).body)
  }
}

function asJson(text: string): Json {
  try {
    return parseExactly(text)
  } catch {
    return text
  }
}

/** The lines of an answer as they come; ends with it, or when none has come for so long. */
async function* linesOf(response: IncomingMessage, quietMs: number): AsyncGenerator<string> {
  let rest = ''
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  for (;;) {
    const quiet = new AbortController()
    const timeout = sleep(quietMs, { done: true, value: undefined } as const, { signal: quiet.signal, ref: true }).catch(() => undefined)
    const next = (await Promise.race([chunks.next(), timeout])) ?? { done: true, value: undefined }
    quiet.abort()
    if (next.done) return
    const lines = (rest + next.value.toString()).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

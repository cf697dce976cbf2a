import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod, V1ServiceAccountTokenProjection } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { parseDurationMs } from '#base/duration.ts'
import { errorMessage } from '#base/error-message.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Processes } from '#base/processes.ts'
import type { Client } from '#client/client.ts'
import type { CredentialProviderConfig, TokenAttributes } from '#kubelet/images/credential-providers/credential-provider-config.ts'
import { matchesPlace, type RegistryEntry } from '#kubelet/images/registry-credentials.ts'

export type CredentialProviderParts = {
  clock: Clock
  processes: Pick<Processes, 'run'>
  client: Pick<Client, 'get'>
  /** Hears of each run. */
  ran(name: string, seconds: number, isGood: boolean): void
  /** Where the programs are. */
  directory: string
  /** A token of the pod's service account. */
  token(pod: V1Pod, projection: V1ServiceAccountTokenProjection): Promise<string>
}

type Answer = {
  apiVersion?: string
  kind?: string
  cacheKeyType?: string
  cacheDuration?: string
  auth?: Record<string, { username?: string; password?: string }>
}

/** Whom the pod is for the program: its account, where the program is told of it. */
type Bearer = { token: string; annotations: Record<string, string>; account: NonNullable<RegistryEntry['account']>; key: string }

const longestRunMs = 60_000
const everything = '<global>'

/** A program that is asked for credentials when an image of its registries is pulled; what it says is kept for as long as it says. */
export class CredentialProvider {
  readonly #config: CredentialProviderConfig
  readonly #parts: CredentialProviderParts
  readonly #kept = new Map<string, { entries: RegistryEntry[]; untilMs: number }>()
  readonly #running = new Map<string, Promise<Answer>>()

  constructor(config: CredentialProviderConfig, parts: CredentialProviderParts) {
    this.#config = config
    this.#parts = parts
  }

  get name(): string {
    return this.#config.name
  }

  /** Those it has for a repository, none where that is not its business. Rejects where it should have some and fails. */
  async entriesFor(repository: string, pod: V1Pod): Promise<RegistryEntry[]> {
    const { matchImages, tokenAttributes } = this.#config
    if (!matchImages.some((place) => matchesPlace(place, repository))) return []
    const bearer = tokenAttributes && (await this.#bearerOf(pod, tokenAttributes))
    if (bearer === 'nobody') return []
    const kept = this.#keptFor(repository, bearer?.key ?? '')
    const entries = kept ?? (await this.#ask(repository, bearer))
    return bearer === undefined ? entries : entries.map((entry) => ({ ...entry, account: bearer.account }))
  }

  /** Undefined: the program is asked without one. */
  async #bearerOf(pod: V1Pod, attributes: TokenAttributes): Promise<Bearer | undefined | 'nobody'> {
    const { client, token: tokenOf } = this.#parts
    const { requiredServiceAccountAnnotationKeys: required = [], optionalServiceAccountAnnotationKeys: optional = [] } = attributes
    const { serviceAccountTokenAudience: audience, requireServiceAccount, cacheType } = attributes
    const { namespace = '' } = pod.metadata
    const name = pod.spec.serviceAccountName ?? ''
    if (name === '') return requireServiceAccount ? 'nobody' : undefined
    const { metadata } = await client.get(ServiceAccount, namespace, name).catch((error: unknown) => {
      throw new Error(`failed to get service account: ${errorMessage(error)}`, { cause: error })
    })
    const all = metadata?.annotations ?? {}
    // It is by such an annotation that people ask for this.
    if (required.some((key) => all[key] === undefined)) return 'nobody'
    const annotations = Object.fromEntries([...required, ...optional].flatMap((key) => (all[key] === undefined ? [] : [[key, all[key]]])))
    const token = await tokenOf(pod, { audience, path: '' }).catch((error: unknown) => {
      throw new Error(`failed to get service account token: ${errorMessage(error)}`, { cause: error })
    })
    const account = { uid: metadata?.uid ?? '', namespace, name }
    const key = JSON.stringify([account, annotations, ...(cacheType === 'Token' ? [hashOf(token)] : [])])
    return { token, annotations, account, key }
  }

  #keptFor(repository: string, bearerKey: string): RegistryEntry[] | undefined {
    const nowMs = this.#parts.clock.now()
    for (const [key, { untilMs }] of this.#kept) if (untilMs < nowMs) this.#kept.delete(key)
    for (const base of [repository, registryOf(repository), everything]) {
      const kept = this.#kept.get(cacheKey(base, bearerKey))
      if (kept !== undefined) return kept.entries
    }
    return undefined
  }

  async #ask(repository: string, bearer: Bearer | undefined): Promise<RegistryEntry[]> {
    const { defaultCacheDuration } = this.#config
    const answer = await this.#askOnce(repository, bearer)
    const { auth = {}, cacheDuration = defaultCacheDuration } = answer
    if (bearer !== undefined && this.#config.tokenAttributes?.cacheType !== 'Token') {
      const isEcho = Object.values(auth).some(({ password }) => password === bearer.token)
      if (isEcho) {
        const what = 'credential provider plugin returned the service account token as the password'
        throw new Error(`${what} which is not allowed when service account cache type is not set to 'Token'`)
      }
    }
    const bases: Record<string, string> = { Image: repository, Registry: registryOf(repository), Global: everything }
    const base = bases[answer.cacheKeyType ?? '']
    if (base === undefined) {
      throw new Error(`credential provider plugin did not return a valid cacheKeyType: ${answer.cacheKeyType ?? ''}`)
    }
    const entries = Object.entries(auth).map(([place, { username = '', password = '' }]) => ({ place, auth: { username, password } }))
    const lastsMs = parseDurationMs(cacheDuration)
    if (lastsMs > 0) this.#kept.set(cacheKey(base, bearer?.key ?? ''), { entries, untilMs: this.#parts.clock.now() + lastsMs })
    return entries
  }

  /** Whoever wants the same meanwhile waits for the same answer. */
  #askOnce(repository: string, bearer: Bearer | undefined): Promise<Answer> {
    const key = JSON.stringify([repository, bearer && hashOf(bearer.token), bearer?.annotations])
    const known = this.#running.get(key)
    if (known !== undefined) return known
    const running = this.#run(repository, bearer).finally(() => this.#running.delete(key))
    this.#running.set(key, running)
    return running
  }

  async #run(repository: string, bearer: Bearer | undefined): Promise<Answer> {
    const { name, apiVersion, args = [], env = [] } = this.#config
    const { processes, directory, clock, ran } = this.#parts
    const request = {
      ...{ kind: 'CredentialProviderRequest', apiVersion, image: repository },
      ...defined({ serviceAccountToken: bearer?.token }),
      ...omitEmpty({ serviceAccountAnnotations: bearer?.annotations }),
    }
    const giveUp = new AbortController()
    const timer = clock.after(longestRunMs, () => giveUp.abort(new Error('context deadline exceeded')))
    const startMs = clock.monotonic()
    const failed = `error execing credential provider plugin ${name} for image ${repository}`
    let stdout: string | undefined
    try {
      const result = await processes.run(join(directory, name), args, {
        input: JSON.stringify(request),
        environment: Object.fromEntries(env.map((each) => [each.name, each.value])),
        signal: giveUp.signal,
      })
      if (result.exitCode !== 0) throw new Error(`exit status ${result.exitCode}: ${result.stderr}`)
      stdout = result.stdout
    } catch (error) {
      throw new Error(`${failed}: ${giveUp.signal.aborted ? 'context deadline exceeded' : errorMessage(error)}`, { cause: error })
    } finally {
      timer.cancel()
      ran(name, (clock.monotonic() - startMs) / 1000, stdout !== undefined)
    }
    return this.#answerIn(stdout)
  }

  /** What it says is never shown: it may hold credentials. */
  #answerIn(stdout: string): Answer {
    const { apiVersion } = this.#config
    let answer: Answer
    try {
      answer = JSON.parse(stdout) as Answer
    } catch {
      throw new Error('error decoding credential provider plugin response from stdout')
    }
    if (answer.apiVersion !== apiVersion) {
      const what = 'apiVersion from credential plugin response did not match expected apiVersion'
      throw new Error(`${what}:${apiVersion}, actual apiVersion:${answer.apiVersion ?? ''}`)
    }
    if (answer.kind !== 'CredentialProviderResponse') throw new Error('error decoding credential provider plugin response from stdout')
    return answer
  }
}

const registryOf = (repository: string): string => repository.split('/')[0] ?? ''
const cacheKey = (base: string, bearerKey: string): string => JSON.stringify([base, bearerKey])
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

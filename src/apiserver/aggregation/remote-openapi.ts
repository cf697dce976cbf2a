/** The OpenAPI documents of the servers behind APIServices. */
import { createHash } from 'node:crypto'
import type { AskRemote } from '#apiserver/aggregation/ask-remote.ts'
import { type RemoteApi, serviceOf } from '#apiserver/aggregation/remote-api.ts'
import type { RemoteApis } from '#apiserver/aggregation/remote-apis.ts'
import { swaggerToV3 } from '#apiserver/aggregation/swagger-to-v3.ts'
import type { RemoteDocuments, SwaggerParts } from '#apiserver/openapi/remote-documents.ts'
import type { Logger } from '#base/log.ts'

/** `asOf` is the number of the word that something may have changed before which it was not asked for yet. */
type Index = { etag: string; urls: ReadonlyMap<string, string>; asOf: number }
type Swagger = { etag: string; hash: string; parts: SwaggerParts; asOf: number }

export class RemoteOpenApi implements RemoteDocuments {
  readonly #apis: RemoteApis
  readonly #ask: AskRemote
  readonly #logger: Logger
  /** By service, since one often serves several versions. */
  readonly #indexes = new Map<string, Index>()
  readonly #swaggers = new Map<string, Swagger>()
  /** How often something was said to have changed: what was asked for before the last time is stale, though it is answered after it. */
  readonly #changes = new Map<string, number>()
  #lastChange = 0

  constructor(apis: RemoteApis, ask: AskRemote, logger: Logger) {
    this.#apis = apis
    this.#ask = ask
    this.#logger = logger
    apis.onChange(() => {
      const used = new Set([...apis.all()].map(serviceOf))
      for (const known of [this.#indexes, this.#swaggers, this.#changes])
        for (const key of known.keys()) if (!used.has(key)) known.delete(key)
    })
  }

  /** Looks for documents of version 3; those of version 2 are asked for when somebody needs them, or when there are no others. */
  async refresh(api: RemoteApi, isAvailable: boolean): Promise<void> {
    const key = serviceOf(api)
    const asOf = ++this.#lastChange
    this.#changes.set(key, asOf)
    if (!isAvailable) return
    const known = this.#indexes.get(key)
    try {
      const answer = await this.#ask(api, { target: '/openapi/v3', accept: 'application/json', etag: known?.etag ?? '' })
      // An answer that was overtaken tells of less than the one that is known.
      if ((this.#indexes.get(key)?.asOf ?? 0) > asOf || !this.#changes.has(key)) return
      if (answer.status === 200) this.#indexes.set(key, { etag: answer.etag, urls: urlsIn(JSON.parse(answer.text)), asOf })
      else if (answer.status !== 304) {
        this.#indexes.delete(key)
        await this.#swaggerOf(key, [api])
      }
    } catch (error) {
      this.#logger.debug('failed to download OpenAPI documents of APIService', { apiService: api.name, error: (error as Error).message })
      if ((this.#indexes.get(key)?.asOf ?? 0) <= asOf) this.#indexes.delete(key)
    }
  }

  /** The document of version 3 made of that of version 2, where the server has no other. */
  converted(api: RemoteApi): { readonly hash: string; text(): string } | undefined {
    const key = serviceOf(api)
    const swagger = this.#indexes.has(key) || !api.isAvailable ? undefined : this.#swaggers.get(key)
    if (swagger === undefined) return undefined
    const { hash, parts } = ownParts(swagger, [api])
    const short = createHash('sha512').update(hash).digest('hex').toUpperCase()
    return { hash: short, text: () => JSON.stringify(swaggerToV3(parts, api.name)) }
  }

  index(): ReadonlyMap<string, string> {
    const found = new Map<string, string>()
    for (const api of this.#apis.all()) {
      const name = documentOf(api)
      const url = api.isAvailable ? this.#indexes.get(serviceOf(api))?.urls.get(name) : undefined
      const made = url === undefined ? this.converted(api) : undefined
      if (url !== undefined) found.set(name, url)
      else if (made !== undefined) found.set(name, `/openapi/v3/${name}?hash=${made.hash}`)
    }
    return found
  }

  owns(name: string): boolean {
    for (const api of this.#apis.all()) if (documentOf(api) === name) return true
    return false
  }

  async v2(): Promise<{ hash: string; parts: SwaggerParts }[]> {
    const available = [...this.#apis.all()].filter(({ isAvailable }) => isAvailable)
    const byService = Map.groupBy(available, serviceOf)
    const swaggers = await Promise.all([...byService].map(async ([key, apis]) => ({ apis, swagger: await this.#swaggerOf(key, apis) })))
    return swaggers.flatMap(({ apis, swagger }) => (swagger === undefined ? [] : [ownParts(swagger, apis)]))
  }

  async #swaggerOf(key: string, [api]: readonly RemoteApi[]): Promise<Swagger | undefined> {
    const known = this.#swaggers.get(key)
    const asOf = this.#changes.get(key) ?? 0
    if (api === undefined || (known !== undefined && known.asOf >= asOf)) return known
    try {
      const answer = await this.#ask(api, { target: '/openapi/v2', accept: 'application/json', etag: known?.etag ?? '' })
      const isSame = answer.status === 304 && known !== undefined
      if (answer.status !== 200 && !isSame) return undefined
      const hash = isSame ? known.hash : createHash('sha512').update(answer.text).digest('hex')
      const swagger = isSame ? { ...known, asOf } : { etag: answer.etag, hash, parts: partsIn(JSON.parse(answer.text)), asOf }
      const newest = this.#swaggers.get(key)
      if (newest !== undefined && newest.asOf > asOf) return newest
      this.#swaggers.set(key, swagger)
      return swagger
    } catch (error) {
      this.#logger.debug('failed to download OpenAPI document of APIService', { apiService: api.name, error: (error as Error).message })
      return known
    }
  }
}

const documentOf = ({ group, version }: RemoteApi): string => (group === '' ? `api/${version}` : `apis/${group}/${version}`)

function urlsIn(index: unknown): Map<string, string> {
  const { paths } = (index ?? {}) as { paths?: Record<string, { serverRelativeURL?: unknown } | null> }
  const urls = Object.entries(paths ?? {}).map(([name, entry]): [string, unknown] => [name, entry?.serverRelativeURL])
  return new Map(urls.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

function partsIn(document: unknown): SwaggerParts {
  const { paths, definitions, parameters } = (document ?? {}) as Partial<SwaggerParts>
  return { paths: paths ?? {}, definitions: definitions ?? {}, parameters: parameters ?? {} }
}

/** A server may describe more than what it is asked for here: that is its own business, or another server's. */
function ownParts({ hash, parts }: Swagger, apis: readonly RemoteApi[]): { hash: string; parts: SwaggerParts } {
  const roots = apis.map((api) => `/${documentOf(api)}/`)
  const paths = Object.entries(parts.paths).filter(([path]) => roots.some((root) => `${path}/`.startsWith(root)))
  return { hash: `${hash}${roots.join()}`, parts: { ...parts, paths: Object.fromEntries(paths) } }
}

/** The API as functions: every verb, for every kind, over any transport. */

import { jsonText } from '#api/codec/json-text.ts'
import type { Kind } from '#api/kind.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { isExpired } from '#api/meta/server-response.ts'
import type { V1DeleteOptions, V1Status } from '#api/meta/v1/types.gen.ts'
import type { KubernetesList, KubernetesObject } from '#api/resource.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { refusalOf } from '#client/answers.ts'
import { type QueryValues, requestTarget } from '#client/request-target.ts'
import type { Transport, TransportRequest, TransportResponse } from '#client/transport.ts'
import { type WatchEvent, watchEventBatches, watchValueBatches } from '#client/watch-events.ts'

/** Hears of every write that succeeded: what was asked, and the object or the Status that came back. */
export type WriteListener = (
  kind: Kind,
  answer: KubernetesObject,
  request: { method: string; namespace: string; name: string; uid?: string },
) => void

export type ClientOptions = { transport: Transport; userAgent: string; onWritten?: WriteListener }

export type WriteOptions = {
  fieldManager?: string
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
  dryRun?: boolean
  subresource?: string
  /** The answer is looked at, if at all, and stays as it is: a server in this process need not copy it. */
  onlyReadsAnswer?: boolean
  /** Nobody waits for it: a server in this process does everything else first. */
  goesLast?: boolean
}
export type ListOptions = {
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
  resourceVersion?: string
  resourceVersionMatch?: string
  /** Objects a page; all pages are fetched. */
  limit?: number
}
export type WatchOptions = Omit<ListOptions, 'limit'> & {
  allowWatchBookmarks?: boolean
  sendInitialEvents?: boolean
  timeoutSeconds?: number
  signal: AbortSignal
}
export type DeleteOptions = Pick<V1DeleteOptions, 'gracePeriodSeconds' | 'propagationPolicy' | 'orphanDependents' | 'dryRun'> & {
  /** Refused with a Conflict when the object is another one, or has changed. */
  uid?: string
  resourceVersion?: string
}
export type PatchType = 'json' | 'merge' | 'strategic'
export type Place = { namespace?: string | undefined; name?: string | undefined }

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const

/** As much of an object as somebody wants to own. */
export type Applied<T> = T extends readonly (infer Item)[]
  ? Applied<Item>[]
  : T extends object
    ? { [Name in keyof T]?: Applied<T[Name]> }
    : T

/** What was deleted may be answered as the object, or as a Status when it is gone. */
export type Deleted<T> = T | V1Status

export class Client {
  readonly #transport: Transport
  readonly #userAgent: string
  readonly #onWritten: WriteListener | undefined

  constructor({ transport, userAgent, onWritten }: ClientOptions) {
    this.#transport = transport
    this.#userAgent = userAgent
    this.#onWritten = onWritten
  }

  /** The same client, whose writes somebody hears of. */
  withWriteListener(onWritten: WriteListener): Client {
    return new Client({ transport: this.#transport, userAgent: this.#userAgent, onWritten })
  }

  get<T extends KubernetesObject>(kind: Kind<T>, namespace: string, name: string): Promise<T> {
    return this.#ask<T>('GET', kind, { namespace, name })
  }

  create<T extends KubernetesObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { subresource = '' } = options
    const name = subresource === '' ? '' : (object.metadata?.name ?? '')
    const place = { namespace: object.metadata?.namespace ?? '', name, subresource }
    return this.#ask<T>('POST', kind, place, writeQuery(options), typed(kind, object), options)
  }

  /** The object's resourceVersion, if it has one, must be the current one. */
  update<T extends KubernetesObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace = '', name = '' } = object.metadata ?? {}
    const place = { namespace, name, ...subresourceOf(options) }
    return this.#ask<T>('PUT', kind, place, writeQuery(options), typed(kind, object), options)
  }

  updateStatus<T extends KubernetesObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.update(kind, object, { ...options, subresource: 'status' })
  }

  patch<T extends KubernetesObject>(
    kind: Kind<T>,
    { namespace = '', name = '' }: Place,
    patch: object,
    { type = 'strategic', ...options }: WriteOptions & { type?: PatchType } = {},
  ): Promise<T> {
    const place = { namespace, name, ...subresourceOf(options) }
    return this.#ask<T>('PATCH', kind, place, writeQuery(options), patch, { ...options, contentType: patchTypes[type] })
  }

  /** Server-side apply: `object` holds the fields that `fieldManager` wants to own, and nothing else. */
  apply<T extends KubernetesObject>(
    kind: Kind<T>,
    object: Applied<NoInfer<T>>,
    { force, ...options }: WriteOptions & { fieldManager: string; force?: boolean },
  ): Promise<T> {
    const applied = object as KubernetesObject
    const { namespace = '', name = '' } = applied.metadata ?? {}
    const query = { ...writeQuery(options), force }
    const place = { namespace, name, ...subresourceOf(options) }
    return this.#ask<T>('PATCH', kind, place, query, typed(kind, applied), { ...options, contentType: 'application/apply-patch+yaml' })
  }

  delete<T extends KubernetesObject>(
    kind: Kind<T>,
    { namespace = '', name = '' }: Place,
    options: DeleteOptions = {},
  ): Promise<Deleted<T>> {
    return this.#ask<Deleted<T>>('DELETE', kind, { namespace, name }, {}, deleteOptions(options))
  }

  deleteCollection<T extends KubernetesObject>(
    kind: Kind<T>,
    { namespace = '', labelSelector, fieldSelector }: ListOptions,
    options: DeleteOptions = {},
  ): Promise<unknown> {
    return this.#ask('DELETE', kind, { namespace }, { labelSelector, fieldSelector }, deleteOptions(options))
  }

  /** Every object, page by page; starts over without pages when the snapshot went away meanwhile. */
  async list<T extends KubernetesObject>(kind: Kind<T>, options: ListOptions = {}): Promise<KubernetesList<T>> {
    const { namespace = '', limit, ...query } = options
    let list = await this.#ask<KubernetesList<T>>('GET', kind, { namespace }, { ...query, limit })
    const items = list.items ?? []
    while (list.metadata?.continue) {
      try {
        list = await this.#ask<KubernetesList<T>>(
          'GET',
          kind,
          { namespace },
          { ...selectorsOf(options), limit, continue: list.metadata.continue },
        )
      } catch (error) {
        if (!isExpired(error)) throw error
        return this.list(kind, { namespace, ...selectorsOf(options) })
      }
      for (const item of list.items) items.push(item)
    }
    const apiVersion = apiVersionOf(kind)
    for (const item of items) {
      item.apiVersion = apiVersion
      item.kind = kind.kind
    }
    return { ...list, items }
  }

  /** Whether there is one; no more than that is read. */
  async hasAny(kind: Kind, { namespace = '', ...query }: ListOptions): Promise<boolean> {
    const { items } = await this.#ask<KubernetesList<KubernetesObject>>('GET', kind, { namespace }, { ...query, limit: 1 })
    return (items ?? []).length > 0
  }

  /** One connection's worth of events: ends when the server ends it, throws when it refuses or the connection breaks. */
  async *watch<T extends KubernetesObject>(
    kind: Kind<T>,
    { namespace = '', signal, ...query }: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    for await (const batch of this.watchBatches<T>(kind, { namespace, signal, ...query })) yield* batch
  }

  /**
   * The same, with events that arrive together given together: for those who follow many. Objects may be shared with a server in this
   * process, and stay as they are.
   */
  async *watchBatches<T extends KubernetesObject>(
    kind: Kind<T>,
    { namespace = '', signal, ...query }: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>[]> {
    const target = requestTarget(kind, { namespace }, { watch: true, ...query })
    const response = await this.#send({ method: 'GET', target, headers: this.#headers(), signal }, kind, '')
    yield* response.values === undefined ? watchEventBatches<T>(response.chunks()) : watchValueBatches<T>(response.values())
  }

  /** A subresource that takes or answers another kind than its parent: scale, eviction, binding, token. */
  subresource<T>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH',
    kind: Kind,
    { namespace = '', name = '' }: Place,
    subresource: string,
    body?: object,
  ): Promise<T> {
    return this.#ask<T>(method, kind, { namespace, name, subresource }, {}, body)
  }

  /** Any path of the server: discovery, health, version. */
  async raw(target: string, accept = 'application/json'): Promise<string> {
    const response = await this.#send({ method: 'GET', target, headers: { ...this.#headers(), accept } }, noKind, '')
    return response.text()
  }

  /** Sends to any path of the server: what stands behind a proxy. */
  async post(target: string, body: string, { signal }: { signal?: AbortSignal } = {}): Promise<string> {
    const headers = { ...this.#headers(), 'content-type': 'text/plain' }
    const response = await this.#send({ method: 'POST', target, headers, body, ...defined({ signal }) }, noKind, '')
    return response.text()
  }

  async #ask<T>(
    method: TransportRequest['method'],
    kind: Kind,
    place: { namespace?: string; name?: string; subresource?: string },
    query: QueryValues = {},
    body?: object,
    { contentType = 'application/json', onlyReadsAnswer = false, goesLast = false }: AskOptions = {},
  ): Promise<T> {
    const headers = this.#headers()
    if (body !== undefined) headers['content-type'] = contentType
    const target = requestTarget(kind, place, query)
    const request = { method, target, headers, ...this.#content(body) }
    const response = await this.#send(goesLast ? { ...request, goesLast } : request, kind, place.name ?? '')
    const shared = response.value?.()
    const answer = (shared === undefined ? JSON.parse(await response.text()) : onlyReadsAnswer ? shared : deepCopy(shared)) as T
    if (method !== 'GET' && this.#onWritten !== undefined) {
      const { namespace = '', name = '' } = place
      const uid = (body as V1DeleteOptions | undefined)?.preconditions?.uid
      this.#onWritten(kind, answer as KubernetesObject, { method, namespace, name, ...defined({ uid }) })
    }
    return answer
  }

  #content(body: object | undefined): Pick<TransportRequest, 'body' | 'value'> {
    if (body === undefined) return {}
    return this.#transport.takesValues ? { value: body } : { body: jsonText(body) }
  }

  async #send(request: TransportRequest, { group, plural }: { group: string; plural: string }, name: string): Promise<TransportResponse> {
    const response = await this.#transport.send(request)
    if (response.status < 200 || response.status > 299) throw await refusalOf(response, { method: request.method, group, plural, name })
    return response
  }

  #headers(): Record<string, string> {
    return { accept: 'application/json', 'user-agent': this.#userAgent }
  }
}

type AskOptions = Pick<WriteOptions, 'onlyReadsAnswer' | 'goesLast'> & { contentType?: string }

const noKind = { group: '', plural: '' }

function typed<T extends KubernetesObject>(kind: Kind, object: T): T {
  if (object.apiVersion !== undefined && object.kind !== undefined) return object
  return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind }
}

function subresourceOf({ subresource }: WriteOptions): { subresource?: string } {
  return subresource === undefined ? {} : { subresource }
}

function selectorsOf({ labelSelector, fieldSelector }: ListOptions): { labelSelector?: string; fieldSelector?: string } {
  return defined({ labelSelector, fieldSelector })
}

function writeQuery({ fieldManager, fieldValidation, dryRun }: WriteOptions): QueryValues {
  return { fieldManager, fieldValidation, dryRun: dryRun ? 'All' : undefined }
}

function deleteOptions({ uid, resourceVersion, ...options }: DeleteOptions): V1DeleteOptions {
  const preconditions = defined({ uid, resourceVersion })
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ...options,
    ...omitEmpty({ preconditions }),
  }
}

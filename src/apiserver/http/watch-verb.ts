/** Answering a watch: from where, in which form, how long. */
import type { FairUse } from '#apiserver/fair-use/fair-use.ts'
import { eventEncoder, type TableOptions } from '#apiserver/http/answers.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { addWarnings } from '#apiserver/http/handler.ts'
import { listPatienceMs, resourceVersionError, waitForRevision } from '#apiserver/http/list-page.ts'
import type { Form } from '#apiserver/http/negotiation.ts'
import { type ListOptions, listOptions, validateListOptions } from '#apiserver/http/query-options.ts'
import { failure, watchNotAcceptable } from '#apiserver/http/refusals.ts'
import { selectionOf } from '#apiserver/http/selection.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { isSharedAsValue } from '#apiserver/http/shared-value.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { type EventEncoder, type EventSink, WatchStream } from '#apiserver/http/watch-stream.ts'
import type { WatchTurns } from '#apiserver/http/watch-turns.ts'
import type { WatchMetrics } from '#apiserver/metrics/watch-metrics.ts'
import type { Clock } from '#base/clock.ts'
import { stackOf } from '#base/error-message.ts'
import type { HttpHeaders, HttpResponseStream } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Store } from '#store/store.ts'

export type WatchServices = {
  clock: Clock
  random: Random
  logger: Logger
  store: Store
  /** Of clients elsewhere, and of parts of this process. */
  turns: WatchTurns
  ownTurns: WatchTurns
  /** The watches of clients elsewhere that are open, to be ended when the server stops. */
  outsideWatches: Set<WatchStream>
  fairUse: FairUse
  /** What watchers are sent is counted where this is there. */
  watches?: WatchMetrics
}

/** So much may wait for a client before it is left to catch up by itself. */
const watchBacklogBytes = 1 << 20

export async function watchObjects(
  services: WatchServices,
  context: RequestContext,
  resource: ServedResource,
  form: Form,
  /** Holds on to the request: only tables may keep it. */
  table: () => TableOptions,
): Promise<void> {
  const { exchange, info } = context
  const { path } = info
  const options = listOptions(context.query, true)
  const named = info.name !== '' && options.fieldSelector === '' ? `metadata.name=${info.name}` : options.fieldSelector
  const namespace = resource.definition.scope === 'Namespaced' ? info.namespace : ''
  const selection = selectionOf(resource.definition, namespace, { ...options, fieldSelector: named })
  validateListOptions(options)
  if (form.media === 'yaml') throw watchNotAcceptable()
  if (!/^\d*$/.test(options.resourceVersion)) throw failure(500, resourceVersionError(options.resourceVersion))
  const { cache } = resource.registry
  const fromRevision = startOf(options)
  if (fromRevision === undefined && needsWaiting(options, resource)) await waitForState(services, resource, options)
  const isOutside = !(exchange.connection instanceof TrustedConnection)
  const place = isOutside ? services.fairUse.watch(context.user.name) : undefined
  const headers: HttpHeaders = { 'content-type': watchContentType(form) }
  addWarnings(context, headers)
  const stream = exchange.stream(200, headers)
  const watch = new WatchStream({
    cache,
    selection,
    encoder: form.as === 'Table' ? eventEncoder(resource, form, table) : sharedEncoder(resource, form),
    clock: services.clock,
    turns: isOutside ? services.turns : services.ownTurns,
    sink: new StreamSink(stream, exchange.takesValues === true && resource.isStoredVersion && isSharedAsValue(resource, form)),
    fromRevision: fromRevision === 'now' ? cache.revision : fromRevision,
    announcesInitialEvents: options.sendInitialEvents === true && options.allowWatchBookmarks,
    wantsBookmarks: options.allowWatchBookmarks,
    timeoutMs: watchTimeoutMs(options.timeoutSeconds, services.random),
    onSent: services.watches?.of(resource.definition).sent,
    onFailed: (error) => services.logger.error('watch failed', { path, error: stackOf(error) }),
  })
  if (isOutside) services.outsideWatches.add(watch)
  const ending = resource.onEnd(() => watch.stop())
  exchange.onClose(() => {
    ending[Symbol.dispose]()
    services.outsideWatches.delete(watch)
    place?.[Symbol.dispose]()
    watch.stop()
  })
  watch.start()
}

/** After which revision changes are wanted; undefined: the state comes first. */
function startOf({ resourceVersion, sendInitialEvents }: ListOptions): number | 'now' | undefined {
  const isUnset = resourceVersion === '' || resourceVersion === '0'
  if (sendInitialEvents === false && isUnset) return 'now'
  return sendInitialEvents === true || isUnset ? undefined : Number(resourceVersion)
}

function needsWaiting({ resourceVersion }: ListOptions, { registry: { cache } }: ServedResource): boolean {
  return resourceVersion === '' ? !cache.isFresh : Number(resourceVersion) > cache.revision
}

async function waitForState({ clock }: WatchServices, { registry }: ServedResource, { resourceVersion }: ListOptions): Promise<void> {
  if (resourceVersion === '') await registry.cache.fresh()
  else await waitForRevision({ registry }, Number(resourceVersion), (signal) => clock.sleep(listPatienceMs, signal))
}

/** One encoder serves all who ask for the same form; a table's columns are sent once to each. */
function sharedEncoder(resource: ServedResource, form: Form): EventEncoder {
  let encoders = sharedEncoders.get(resource)
  if (encoders === undefined) {
    encoders = new Map()
    sharedEncoders.set(resource, encoders)
  }
  const key = `${form.media} ${form.as} ${form.metaVersion}`
  let encoder = encoders.get(key)
  if (encoder === undefined) {
    encoder = eventEncoder(resource, form, noTable)
    encoders.set(key, encoder)
  }
  return encoder
}

const noTable = (): TableOptions => ({ nowMs: 0, include: 'None' })

const sharedEncoders = new WeakMap<ServedResource, Map<string, EventEncoder>>()

class StreamSink implements EventSink {
  readonly #stream: HttpResponseStream
  readonly give: EventSink['give']

  constructor(stream: HttpResponseStream, sharesObjects: boolean) {
    this.#stream = stream
    if (sharesObjects) this.give = (events, sizeBytes) => stream.give?.(events, sizeBytes)
  }
  write(bytes: Uint8Array): void {
    this.#stream.write(bytes)
  }
  isBehind(): boolean {
    return this.#stream.backlogBytes > watchBacklogBytes
  }
  onCaughtUp(callback: () => void): void {
    this.#stream.onDrain(callback)
  }
  end(): void {
    this.#stream.end()
  }
}

/** Clients that do not say get between half an hour and an hour, in whole seconds, so that they do not all come back at once. */
function watchTimeoutMs(asked: number | undefined, random: Random): number {
  return asked !== undefined && asked > 0 ? asked * 1000 : Math.round(1800 * (1 + random.float())) * 1000
}

function watchContentType(form: Form): string {
  return form.media === 'protobuf' ? 'application/vnd.kubernetes.protobuf;stream=watch' : 'application/json'
}

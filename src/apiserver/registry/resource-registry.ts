/** The objects of one resource: read from memory, written through admission, rules and the store. */

import { deepCopy } from '#api/meta/deep-copy.ts'
import { generatedName } from '#api/meta/generate-name.ts'
import { apiVersionOf, type GroupResource } from '#api/meta/gvk.ts'
import { badRequest, forbidden, generatedNameTaken, notFound, unknownFailure } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { V1DeleteOptions } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject, ResourceDefinition, RuleContext, UpdateRules } from '#api/resource.ts'
import type { AdmissionOperation, AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { ValueTransformer } from '#apiserver/encryption/transformer.ts'
import { admissionRequest, type FinishedRequest, validatedRequest } from '#apiserver/registry/admission-request.ts'
import { beforeCreate } from '#apiserver/registry/before-create.ts'
import { beforeDelete, garbageCollectionFinalizers, markAsDeleting } from '#apiserver/registry/before-delete.ts'
import { beforeUpdate } from '#apiserver/registry/before-update.ts'
import { metadataOf } from '#apiserver/registry/metadata-of.ts'
import { LostRace, ObjectWrites } from '#apiserver/registry/object-writes.ts'
import { dropRepeatedOwners } from '#apiserver/registry/owner-references.ts'
import type { RegistryOptions, UpdateOptions } from '#apiserver/registry/registry-options.ts'
import { storageKey } from '#apiserver/registry/storage-key.ts'
import type { ChangeOptions } from '#apiserver/registry/typed-registry.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'
import {
  AlreadyThere,
  changedMeanwhile,
  checkResourceVersion,
  checkUid,
  exists,
  needsResourceVersion,
} from '#apiserver/registry/write-refusals.ts'
import { CachedObject, rememberParsed } from '#apiserver/watch-cache/cached-object.ts'
import type { ObjectCache } from '#apiserver/watch-cache/object-cache.ts'
import { inSteps } from '#base/steps.ts'

const generateNameAttempts = 8
/** Only writers of other API servers, or very slow ones, come in between. */
const conflictAttempts = 100

export class ResourceRegistry {
  readonly definition: ResourceDefinition
  readonly cache: ObjectCache
  readonly #options: RegistryOptions
  readonly #writes: ObjectWrites

  constructor(options: RegistryOptions) {
    this.#options = options
    this.#writes = new ObjectWrites(options)
    this.definition = options.definition
    this.cache = options.cache
  }

  /** How what the store holds is read; for those who read it without the cache. */
  get transformer(): ValueTransformer | undefined {
    return this.#options.transformer
  }

  key(namespace: string, name: string): string {
    return storageKey(this.definition, namespace, name)
  }

  /** The newest state, or undefined. */
  async find(namespace: string, name: string): Promise<CachedObject | undefined> {
    if (!this.cache.isFresh) await this.cache.fresh()
    const found = this.cache.get(this.key(namespace, name))
    if (found !== undefined) await this.cache.prepare([found])
    return found
  }

  async get(
    namespace: string,
    name: string,
    subject: GroupResource = { group: this.definition.group, resource: this.definition.plural },
  ): Promise<CachedObject> {
    return (await this.find(namespace, name)) ?? missing(name, subject)
  }

  async create(object: KubernetesObject, context: WriteContext): Promise<CachedObject> {
    const metadata = metadataOf(object)
    this.#ensureNamespace(object, context)
    this.#ensureOpen(metadata.name ?? '', context)
    await this.#options.ownership.afterUpdate(undefined, object, context)
    await context.giveWay?.()
    const generates = !metadata.name && metadata.generateName
    const request = this.#admission('CREATE', context, metadata.name ?? '', object, undefined)
    await this.#mutate(request, object, context)
    for (let attempt = 1; ; attempt++) {
      const name = generates ? generatedName(metadata.generateName ?? '', this.#options.random) : (metadata.name ?? '')
      // An attempt takes the object over: the next one begins with what admission has left.
      const draft = generates ? deepCopy(object) : object
      if (generates) metadataOf(draft).name = name
      try {
        return await this.#createOnce(draft, context, generates ? { ...request, object: context.seen?.of(draft) ?? draft } : request)
      } catch (error) {
        if (!(error instanceof AlreadyThere)) throw error
        if (!generates) throw exists(error, name, context)
        if (attempt === generateNameAttempts) throw generatedNameTaken(context.resource, name)
      }
    }
  }

  async #createOnce(
    object: KubernetesObject,
    context: WriteContext,
    request: FinishedRequest,
    authorize?: UpdateOptions['authorizeCreate'],
  ): Promise<CachedObject> {
    const { clock, random, hooks } = this.#options
    const metadata = metadataOf(object)
    metadata.creationTimestamp = formatTime(clock.now())
    metadata.uid = random.uuid()
    let wasWritten = false
    const finish = await hooks?.beginCreate?.(object, context)
    try {
      const shaping = beforeCreate(this.definition, object, this.#rules(context))
      for (const warning of await inSteps(shaping, context.giveWay)) context.warn(warning)
      await context.giveWay?.()
      const validated = hooks?.afterRules?.(object, undefined, context)
      if (validated !== undefined) await validated
      await authorize?.()
      if (!context.skipsAdmission) await this.#options.admission.validate({ ...request, name: metadata.name ?? '' })
      await context.giveWay?.()
      // Upstream's store says it, when everybody else has spoken.
      if (metadata.resourceVersion && !context.isDryRun) throw unknownFailure('resourceVersion should not be set on objects to be created')
      const created = await this.#write(object, undefined, context)
      wasWritten = !context.isDryRun
      return created
    } finally {
      await finish?.(wasWritten)
      request.finish(wasWritten)
    }
  }

  /** Writes what `transform` makes of the newest state. `wasCreated` tells a 201 from a 200. */
  async update(name: string, context: WriteContext, options: UpdateOptions): Promise<{ object: CachedObject; wasCreated: boolean }> {
    for (let attempt = 1; ; attempt++) {
      try {
        const key = this.key(context.namespace, name)
        return await this.#writes.inTurn(key, (pass) => this.#updateOnce(name, context, options, pass))
      } catch (error) {
        if (!(error instanceof LostRace) || attempt >= conflictAttempts) {
          throw error instanceof LostRace
            ? changedMeanwhile(name, context)
            : error instanceof AlreadyThere
              ? exists(error, name, context)
              : error
        }
      }
    }
  }

  /** As `update`, of an object that must be there. */
  change(name: string, context: WriteContext, { transform, ...options }: ChangeOptions): Promise<{ object: CachedObject }> {
    return this.update(name, context, { ...options, transform: (prev) => transform(prev ?? missing(name, context.resource)) })
  }

  async #updateOnce(
    name: string,
    context: WriteContext,
    {
      transform,
      rules = this.definition,
      createsIfMissing = false,
      authorizeCreate,
      retriesConflicts = false,
      expectsUid = false,
      tracksFields = false,
    }: UpdateOptions,
    pass: () => void,
  ): Promise<{ object: CachedObject; wasCreated: boolean }> {
    const { definition } = this
    const prev = await this.#writes.newest(this.key(context.namespace, name))
    if (prev === undefined) {
      if (!createsIfMissing && !definition.allowCreateOnUpdate) missing(name, context.resource)
      const fresh = await transform(undefined)
      try {
        return { object: await this.#createFromUpdate(fresh, context, authorizeCreate), wasCreated: true }
      } catch (error) {
        throw retriesConflicts && error instanceof AlreadyThere ? new LostRace() : error
      }
    }
    const next = await transform(prev.object)
    await context.giveWay?.()
    if (tracksFields) await this.#options.ownership.afterUpdate(prev.object, next, context)
    const metadata = metadataOf(next)
    this.#ensureNamespace(next, context)
    if (expectsUid) checkUid(metadata.uid, prev, name, context.resource)
    checkResourceVersion(metadata.resourceVersion)
    if (!metadata.resourceVersion || metadata.resourceVersion === '0') {
      if (!definition.allowUnconditionalUpdate) throw needsResourceVersion(definition, name)
      metadata.resourceVersion = String(prev.revision)
    } else if (metadata.resourceVersion !== String(prev.revision)) {
      if (retriesConflicts && !(await this.#isCurrent(prev))) throw new LostRace()
      throw changedMeanwhile(name, context)
    }
    return { object: await this.#store(name, next, prev, rules, context, pass), wasCreated: false }
  }

  async #store(
    name: string,
    next: KubernetesObject,
    prev: CachedObject,
    rules: UpdateRules<KubernetesObject>,
    context: WriteContext,
    pass: () => void,
  ): Promise<CachedObject> {
    const { hooks, ownership, admission } = this.#options
    const request = this.#admission('UPDATE', context, name, next, prev.object)
    await this.#mutate(request, next, context)
    let wasWritten = false
    const finish = await hooks?.beginUpdate?.(next, prev.object, context)
    try {
      const shaping = beforeUpdate(this.definition, rules, next, prev.object, this.#rules(context))
      for (const warning of await inSteps(shaping, context.giveWay)) context.warn(warning)
      await context.giveWay?.()
      const validated = hooks?.afterRules?.(next, prev.object, context)
      if (validated !== undefined) await validated
      ownership.keepTimesOfUnchanged(next, prev.object, this.definition)
      await context.giveWay?.()
      if (!context.skipsAdmission) await admission.validate(validatedRequest(request, next, context))
      await context.giveWay?.()
      if (isReleased(next, prev.object) && (hooks?.mayDeleteOnUpdate?.(next) ?? true)) {
        const deleted = await this.#remove(prev, next, context, pass)
        wasWritten = !context.isDryRun
        // The writer asked for an update and is shown one.
        return deleted.at(prev.revision)
      }
      const written = await this.#write(next, prev, context, pass)
      wasWritten = !context.isDryRun
      return written
    } finally {
      await finish?.(wasWritten)
      request.finish(wasWritten)
    }
  }

  async #createFromUpdate(
    object: KubernetesObject,
    context: WriteContext,
    authorize: UpdateOptions['authorizeCreate'],
  ): Promise<CachedObject> {
    // There is nothing yet that it could be the version of.
    delete object.metadata?.resourceVersion
    this.#ensureNamespace(object, context)
    this.#ensureOpen(object.metadata?.name ?? '', context)
    const options = { ...context.options, kind: 'CreateOptions' }
    const request = this.#admission('CREATE', { ...context, options }, object.metadata?.name ?? '', object, undefined)
    await this.#mutate(request, object, context)
    return this.#createOnce(object, context, request, authorize)
  }

  /**
   * Deletes the object, or marks it where grace or finalizers keep it.
   * `wasDeleted` is false when it stays for now.
   */
  async delete(name: string, options: V1DeleteOptions, context: WriteContext): Promise<{ object: CachedObject; wasDeleted: boolean }> {
    for (let attempt = 1; ; attempt++) {
      const key = this.key(context.namespace, name)
      try {
        return await this.#writes.inTurn(key, async (pass) => {
          const prev = (await this.#writes.newest(key)) ?? missing(name, context.resource)
          return this.#deleteOnce(prev, { ...options }, context, pass)
        })
      } catch (error) {
        if (!(error instanceof LostRace)) throw error
        if (attempt >= conflictAttempts) throw changedMeanwhile(name, context)
      }
    }
  }

  async #deleteOnce(
    prev: CachedObject,
    options: V1DeleteOptions,
    context: WriteContext,
    pass: () => void,
  ): Promise<{ object: CachedObject; wasDeleted: boolean }> {
    const { clock, admission, hooks } = this.#options
    const instead = hooks?.insteadOfDelete?.(prev.object, options, clock.now())
    if (instead === prev.object) return { object: prev, wasDeleted: false }
    if (instead !== undefined) return { object: await this.#writeInsteadOfDelete(instead, prev, context), wasDeleted: false }
    const next = deepCopy(prev.object)
    const metadata = metadataOf(next)
    const grace = beforeDelete(this.definition, next, options, clock.now())
    if (grace === 'pending') return { object: prev, wasDeleted: false }
    const request = this.#admission('DELETE', context, context.isOfMany ? '' : prev.name, undefined, prev.object)
    let wasWritten = false
    try {
      if (!context.skipsAdmission) {
        await admission.mutate(request)
        await admission.validate(request)
      }
      const finalizers = garbageCollectionFinalizers(context.served.definition, metadata, options)
      if (finalizers !== undefined) metadata.finalizers = finalizers
      const isKept = (metadata.finalizers ?? []).length > 0
      if (grace === 'none' && isKept) markAsDeleting(metadata, clock.now())
      const stays = isKept || (grace === 'marked' && (options.gracePeriodSeconds ?? 0) > 0)
      if (stays) {
        const object = await this.#write(next, prev, context, pass)
        wasWritten = !context.isDryRun
        return { object, wasDeleted: false }
      }
      // As upstream: what ends without grace is marked so first, and its last event says it.
      const marked = grace === 'marked' ? await this.#write(next, prev, context) : prev
      const object = await this.#remove(marked, context.isDryRun && grace === 'marked' ? next : undefined, context, pass)
      wasWritten = !context.isDryRun
      return { object, wasDeleted: true }
    } finally {
      request.finish(wasWritten)
    }
  }

  async #writeInsteadOfDelete(next: KubernetesObject, prev: CachedObject, context: WriteContext): Promise<CachedObject> {
    const request = this.#admission('DELETE', context, prev.name, undefined, prev.object)
    if (!context.skipsAdmission) {
      await this.#options.admission.mutate(request)
      await this.#options.admission.validate(request)
    }
    const written = await this.#write(next, prev, context)
    request.finish(!context.isDryRun)
    return written
  }

  async #remove(prev: CachedObject, last: KubernetesObject | undefined, context: WriteContext, pass: () => void): Promise<CachedObject> {
    let { revision } = prev
    if (!context.isDryRun) {
      revision = await this.#writes.remove(prev, pass)
      await this.#options.hooks?.afterDelete?.(prev.object, context)
    }
    if (last === undefined) return prev.at(revision)
    const { value } = await this.#options.encode(withoutResourceVersion(last))
    return this.cache.shown(new CachedObject(prev.key, prev.namespace, prev.name, revision, value))
  }

  /** Puts the object into the store if it is still as `prev` says; an object that did not change is not written. */
  async #write(
    object: KubernetesObject,
    prev: CachedObject | undefined,
    context: WriteContext,
    pass: () => void = () => {},
  ): Promise<CachedObject> {
    const { transformer, lease } = this.#options
    const { namespace = '', name = '' } = object.metadata ?? {}
    const key = prev?.key ?? this.key(namespace, name)
    const encoded = this.#options.encode(withoutResourceVersion(object), context.giveWay)
    const { canonical: parsed, value } = encoded instanceof Promise ? await encoded : encoded
    await context.giveWay?.()
    if (prev !== undefined && Buffer.compare(value, prev.stored.value) === 0) return prev
    if (context.isDryRun) {
      if (prev === undefined && this.cache.get(key)) throw new AlreadyThere(this.cache.get(key))
      const shown = this.cache.shown(new CachedObject(key, namespace, name, prev?.revision ?? 0, value))
      await this.cache.prepare([shown])
      return shown
    }
    const transformed = transformer ? transformer.toStorage(value, key) : value
    const stored = transformed instanceof Promise ? await transformed : transformed
    if (stored === value) rememberParsed(stored, parsed)
    try {
      return await this.#writes.put(key, { namespace, name, value, stored, parsed }, prev, await lease?.(), pass)
    } catch (error) {
      throw error instanceof LostRace && prev === undefined ? new AlreadyThere(this.cache.get(key)) : error
    }
  }

  #admission(
    operation: AdmissionOperation,
    context: WriteContext,
    name: string,
    object: KubernetesObject | undefined,
    oldObject: KubernetesObject | undefined,
  ): FinishedRequest {
    return admissionRequest({ definition: this.definition, operation, name, object, oldObject }, context)
  }

  /** What admission changes is not tracked: it belongs to nobody, as upstream has it. */
  async #mutate(request: AdmissionRequest, object: KubernetesObject, context: WriteContext): Promise<void> {
    if (context.skipsAdmission) return
    await this.#options.admission.mutate(request)
    if (request.object !== undefined) context.seen?.into(request.object, object)
    this.#ensureNamespace(object, context)
    dropRepeatedOwners(object, context.warn, true)
    await context.giveWay?.()
  }

  #ensureNamespace(object: KubernetesObject, context: WriteContext): void {
    const metadata = metadataOf(object)
    const { scope, untyped } = this.definition
    // Of custom resources nobody minds a namespace where there is none.
    if (untyped !== undefined && scope === 'Cluster') delete metadata.namespace
    if (!metadata.namespace && this.definition.scope === 'Namespaced') metadata.namespace = context.namespace
    if ((metadata.namespace ?? '') !== context.namespace)
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }

  #ensureOpen(name: string, { resource }: WriteContext): void {
    const refusal = this.definition.creationForbidden?.()
    if (refusal !== undefined) throw forbidden(resource, name, refusal)
  }

  async #isCurrent(prev: CachedObject): Promise<boolean> {
    return (await this.#writes.newest(prev.key))?.revision === prev.revision
  }

  #rules({ resource, user, warn }: WriteContext): RuleContext {
    const { clock, isEnabled, labelsOfNamespace } = this.#options
    const context = { now: formatTime(clock.now()), isEnabled, requestVersion: apiVersionOf(resource), user, warn }
    return labelsOfNamespace ? { ...context, labelsOfNamespace } : context
  }
}

/** An update that leaves no finalizer on an object whose grace is over deletes it. */
function isReleased(next: KubernetesObject, prev: KubernetesObject): boolean {
  if ((next.metadata?.finalizers ?? []).length > 0 || prev.metadata?.deletionTimestamp === undefined) return false
  return (prev.metadata.deletionGracePeriodSeconds ?? 0) === 0
}

function withoutResourceVersion(object: KubernetesObject): KubernetesObject {
  if (object.metadata?.resourceVersion === undefined) return object
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

function missing(name: string, subject: GroupResource): never {
  throw notFound(subject, name)
}

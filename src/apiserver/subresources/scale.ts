/** The scale subresource: a Scale that stands for the number of replicas of the object behind it. */

import type { V1Scale } from '#api/autoscaling/v1/types.gen.ts'
import { strictDecodingError } from '#api/codec/json.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { applyPatch } from '#api/meta/patch/apply-patch.ts'
import { badRequest, conflict, internalError, invalid } from '#api/meta/status-error.ts'
import type { Column, KubernetesObject, ScaleRules } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { contentTypeOf, encodeValue } from '#apiserver/http/answers.ts'
import { formOf, tableOptions } from '#apiserver/http/asked-form.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { decodeBody } from '#apiserver/http/decode-body.ts'
import { decodePatched, parsingPatchBody } from '#apiserver/http/decode-object.ts'
import { addWarnings, type Endpoint } from '#apiserver/http/handler.ts'
import { patchKindOf } from '#apiserver/http/patch-verb.ts'
import { writeOptions } from '#apiserver/http/query-options.ts'
import { methodNotAllowed } from '#apiserver/http/refusals.ts'
import type { EndpointServices } from '#apiserver/http/resource-endpoints.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { columnDefinitions, tableRow } from '#apiserver/http/table.ts'
import { bodyOptions, readWritten, writeContext } from '#apiserver/http/write-verbs.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'
import { currentScale, scaleDefinition, shownScale } from '#apiserver/subresources/scale-kind.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { defined } from '#base/defined.ts'
import type { HttpHeaders } from '#base/http-server.ts'
import { atOnce } from '#base/steps.ts'

type Rules = ScaleRules<KubernetesObject>

export function scaleEndpoint(services: EndpointServices, resource: ServedResource, rules: Rules, method: string): Endpoint {
  switch (method) {
    case 'GET':
      return async (context) => {
        formOf(context)
        const object = await resource.registry.get(context.info.namespace, context.info.name)
        const unscalable = rules.unscalable?.(object.object)
        if (unscalable !== undefined) throw internalError(unscalable)
        respondScale(services, context, resource, rules, object)
      }
    case 'PUT':
      return (context) => putScale(services, resource, rules, context)
    case 'PATCH':
      return (context) => patchScale(services, resource, rules, context)
    default:
      return () => {
        throw methodNotAllowed()
      }
  }
}

async function putScale(services: EndpointServices, resource: ServedResource, rules: Rules, context: RequestContext): Promise<void> {
  const body = await readWritten(context, services)
  const options = writeOptions('UpdateOptions', context.query)
  const scale = decodeBody(body, scaleDefinition(resource), {
    ...bodyOptions(context),
    fieldValidation: options.fieldValidation,
  })
  await changeScale(services, resource, rules, context, options, false, () => currentScale(scale))
}

async function patchScale(services: EndpointServices, resource: ServedResource, rules: Rules, context: RequestContext): Promise<void> {
  const kind = patchKindOf(context, resource.definition)
  const body = await readWritten(context, services)
  const options = writeOptions('PatchOptions', context.query, kind === 'apply')
  await changeScale(services, resource, rules, context, options, kind === 'apply', (current) => {
    if (kind === 'apply')
      return services.ownership.applyScale(current, body, writeContext(context, resource, options, 'UpdateOptions'), options)
    const definition = scaleDefinition(resource)
    const patched = applyPatch(kind, shownScale(current, resource), atOnce(parsingPatchBody(body)).value, schemaOf(definition.schema))
    const decoded = decodePatched(patched, definition)
    if ('error' in decoded) throw badRequest(decoded.error)
    if (options.fieldValidation === 'Warn') for (const each of decoded.strictErrors) context.warn(each)
    if (options.fieldValidation === 'Strict' && decoded.strictErrors.length > 0) throw badRequest(strictDecodingError(decoded.strictErrors))
    return currentScale(decoded.object)
  })
}

async function changeScale(
  services: EndpointServices,
  resource: ServedResource,
  rules: Rules,
  context: RequestContext,
  options: ReturnType<typeof writeOptions>,
  isApply: boolean,
  change: (current: V1Scale) => V1Scale,
): Promise<void> {
  const { name, namespace } = context.info
  const { definition } = resource
  const { group, version, kind } = scaleDefinition(resource)
  const write: WriteContext = {
    ...writeContext(context, resource, options, 'UpdateOptions'),
    seen: {
      kind: { group, version, kind },
      of: (object) => shownScale(scaleOf(rules, object), resource) as KubernetesObject,
      into: (seen, object) => rules.setReplicas(object, (seen as V1Scale).spec?.replicas ?? 0),
    },
  }
  const subject = { group: definition.group, resource: `${definition.plural}/scale` }
  const { object } = await resource.registry.update(name, write, {
    retriesConflicts: true,
    transform(prev) {
      const current = prev ?? {}
      const owners = services.ownership.scaleEntries(prev, write)
      const shown = scaleOf(rules, current)
      if (owners !== undefined) shown.metadata = { ...shown.metadata, managedFields: owners }
      const scale = change(shown)
      if (!isApply && owners !== undefined) scale.metadata = { ...scale.metadata, managedFields: owners }
      const { metadata = {} } = scale
      if ((metadata.name ?? '') === '') throw badRequest('name must be provided')
      if (metadata.name !== name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
      if ((metadata.namespace ?? namespace) !== namespace)
        throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
      if (metadata.uid && metadata.uid !== current.metadata?.uid) {
        throw conflict(
          subject,
          name,
          `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${current.metadata?.uid ?? ''}`,
        )
      }
      const replicas = scale.spec?.replicas ?? 0
      if (replicas < 0 && definition.untyped === undefined) {
        throw invalid({ group: 'autoscaling', kind: 'Scale' }, name, [
          { type: 'FieldValueInvalid', field: 'spec.replicas', body: `Invalid value: ${replicas}: must be greater than or equal to 0` },
        ])
      }
      const next = deepCopy(current)
      rules.setReplicas(next, replicas)
      if (metadata.resourceVersion) next.metadata = { ...next.metadata, resourceVersion: metadata.resourceVersion }
      services.ownership.afterScale(prev, next, scale, write, isApply)
      return next
    },
  })
  respondScale(services, context, resource, rules, object)
}

function scaleOf(rules: Rules, object: KubernetesObject): V1Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata ?? {}
  const replicas = rules.replicas(object)
  const selector = rules.selector(object)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: defined({ name, namespace, uid, resourceVersion, creationTimestamp }),
    spec: defined({ replicas: replicas || undefined }),
    status: { replicas: rules.statusReplicas(object), ...defined({ selector: selector || undefined }) },
  }
}

/** What `kubectl get --raw` and tables of scales show. */
const columns: readonly Column<V1Scale>[] = [
  { ...nameColumn, format: '' },
  { name: 'Desired', type: 'integer', description: { field: 'ScaleSpec.replicas' }, cell: ({ spec }) => spec?.replicas ?? 0 },
  { name: 'Available', type: 'integer', description: { field: 'ScaleStatus.replicas' }, cell: ({ status }) => status?.replicas ?? 0 },
  ageColumn,
]

function respondScale(
  services: EndpointServices,
  context: RequestContext,
  resource: ServedResource,
  rules: Rules,
  cached: CachedObject,
): void {
  const form = formOf(context)
  const headers: HttpHeaders = { 'content-type': contentTypeOf(form) }
  addWarnings(context, headers)
  const scale = shownScale(scaleOf(rules, cached.object), resource)
  if (form.as !== 'Table') {
    context.exchange.respond(200, headers, encodeValue(scale, form, scaleDefinition(resource).schema))
    return
  }
  const definition = { ...scaleDefinition(resource), columns: columns as readonly Column<KubernetesObject>[] }
  const row = tableRow(definition, scale, () => scale, { ...tableOptions(services, context), metaVersion: form.metaVersion })
  const metadata = { resourceVersion: String(cached.revision) }
  const table = {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${form.metaVersion}`,
    metadata,
    columnDefinitions: columnDefinitions(definition),
    rows: [row],
  }
  context.exchange.respond(200, headers, encodeValue(table as KubernetesObject, form, undefined))
}

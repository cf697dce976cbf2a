/** Binding: a scheduler's word that a pod belongs to a node. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Binding, V1Pod } from '#api/core/v1/types.gen.ts'
import { withCondition } from '#api/meta/find-condition.ts'
import { badRequest, conflict, type StatusError, unknownFailure } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { decodeBody } from '#apiserver/http/decode-body.ts'
import { writeOptions } from '#apiserver/http/query-options.ts'
import type { EndpointServices } from '#apiserver/http/resource-endpoints.ts'
import { bodyOptions, readWritten } from '#apiserver/http/write-verbs.ts'
import type { Registries } from '#apiserver/registry/registries.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import { type Admission, admit } from '#apiserver/subresources/admit.ts'
import { respondSuccess, valueFormOf } from '#apiserver/subresources/respond-value.ts'

const bindingDefinition: ResourceDefinition<V1Binding> = {
  group: '',
  version: 'v1',
  kind: 'Binding',
  plural: 'bindings',
  scope: 'Namespaced',
  verbs: ['create'],
  schema: 'io.k8s.api.core.v1.Binding',
}

export type BindingParts = { registries: Registries; services: EndpointServices; admission: Admission }

/** Serves `pods/NAME/binding`, and `bindings`, where the name is in the object alone. */
export async function bind(context: RequestContext, { registries, services, admission }: BindingParts): Promise<void> {
  valueFormOf(context)
  const options = writeOptions('CreateOptions', context.query)
  const body = await readWritten(context, services)
  const binding = decodeBody(body, bindingDefinition, { ...bodyOptions(context), fieldValidation: options.fieldValidation })
  const name = context.info.name || (binding.metadata?.name ?? '')
  if (binding.metadata?.name && binding.metadata.name !== name) throw badRequest('name in URL does not match name in Binding object')
  const pods = registries.of(Pod)
  const isDryRun = options.dryRun.includes('All')
  const definition = context.info.resource === 'bindings' ? bindingDefinition : pods.definition
  await admit(admission, context, {
    operation: 'CREATE',
    definition,
    kind: bindingDefinition,
    name,
    object: binding,
    isDryRun,
  })
  const { kind = '', name: node = '' } = binding.target
  if (kind !== '' && kind !== 'Node')
    throw unknownFailure(`target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`)
  if (node === '') throw unknownFailure('target.name: Required value')
  const write = { ...serverContext(pods.definition, context.info.namespace, 'binding'), isDryRun }
  await pods.change(name, write, {
    retriesConflicts: true,
    rules: {},
    transform: (prev) => boundPod(prev, binding, node, formatTime(services.clock.now())),
  })
  respondSuccess(context, 201)
}

function boundPod(prev: V1Pod, binding: V1Binding, node: string, now: string): V1Pod {
  const refuse = (why: string): StatusError => conflict({ group: '', resource: 'pods/binding' }, prev.metadata.name ?? '', why)
  const { name = '', uid, deletionTimestamp } = prev.metadata
  const askedUid = binding.metadata?.uid
  if (askedUid && askedUid !== uid) {
    const precondition = `Precondition failed: UID in precondition: ${askedUid}, UID in object meta: ${uid}`
    throw conflict(
      { group: '', resource: 'pods' },
      name,
      `StorageError: invalid object, Code: 4, Key: /registry/pods/${prev.metadata.namespace}/${name}, ResourceVersion: 0, AdditionalErrorMsg: ${precondition}`,
    )
  }
  if (deletionTimestamp !== undefined) throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`)
  if (prev.spec.nodeName) throw refuse(`pod ${name} is already assigned to node ${JSON.stringify(prev.spec.nodeName)}`)
  if (prev.spec.schedulingGates?.length) throw refuse(`pod ${name} has non-empty .spec.schedulingGates`)
  // What does not change is shared with the pod before.
  const pod: V1Pod = { ...prev, metadata: { ...prev.metadata }, spec: { ...prev.spec, nodeName: node }, status: { ...prev.status } }
  if (binding.metadata?.annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...binding.metadata.annotations }
  if (binding.metadata?.labels) pod.metadata.labels = { ...pod.metadata.labels, ...binding.metadata.labels }
  const status = pod.status ?? {}
  // Where it was to go no longer matters now that it has gone somewhere.
  delete status.nominatedNodeName
  status.conditions = withCondition(status.conditions, { type: 'PodScheduled', status: 'True', lastTransitionTime: now })
  return pod
}

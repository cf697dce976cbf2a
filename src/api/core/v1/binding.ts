import type { V1Binding } from '#api/core/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** The order to run a pod on a node: never stored, it becomes the pod's `nodeName`. */
export const Binding = defineResource<V1Binding>({
  group: '',
  version: 'v1',
  kind: 'Binding',
  plural: 'bindings',
  scope: 'Namespaced',
  verbs: ['create'],
  schema: 'io.k8s.api.core.v1.Binding',

  validate({ target }, check) {
    const { kind = '', name = '' } = target ?? {}
    if (kind !== '' && kind !== 'Node') check.at('target.kind').notSupported(kind, ['Node', '<empty>'])
    if (name === '') check.at('target.name').required()
  },
})

import { Binding } from '#api/core/v1/kinds.gen.ts'
import { defineResource } from '#api/resource.ts'

/** The order to run a pod on a node: never stored, it becomes the pod's `nodeName`. */
export const bindingResource = defineResource(Binding, {
  validate({ target }, check) {
    const { kind = '', name = '' } = target ?? {}
    if (kind !== '' && kind !== 'Node') check.at('target').at('kind').notSupported(['Node', '<empty>'], kind)
    if (name === '') check.at('target').at('name').required()
  },
})

import { Namespace } from '#api/core/v1/kinds.gen.ts'
import { notFound } from '#api/meta/status-error.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'

/** Refuses whatever is in a namespace that does not exist, deletions included. */
export function namespaceExists({ cluster }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'NamespaceExists',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    validate({ namespace, definition }) {
      if (namespace === '' || definition.kind === 'Namespace') return undefined
      if (cluster.get(Namespace, namespace) !== undefined) return undefined
      return cluster.getFresh(Namespace, namespace).then((found) => {
        if (found === undefined) throw notFound({ group: '', resource: 'namespaces' }, namespace)
      })
    },
  }
}

import { Namespace } from '#api/core/v1/kinds.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { forbidden, notFound } from '#api/meta/status-error.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'
import type { Client } from '#client/client.ts'

/** Objects need a namespace to be in, and none comes into one that is being deleted; the cluster knows which there are. */
export function existingNamespaces(client: Client): AdmissionPlugin {
  return {
    name: 'NamespaceLifecycle',
    operations: ['CREATE'],
    async mutate({ namespace, resource, name }) {
      if (namespace === '') return
      const found = await client.get(Namespace, '', namespace).catch((error: unknown) => {
        if (isNotFound(error)) throw notFound({ group: '', resource: 'namespaces' }, namespace)
        throw error
      })
      if (found.status?.phase !== 'Terminating') return
      throw forbidden(resource, name, `unable to create new content in namespace ${namespace} because it is being terminated`)
    },
  }
}

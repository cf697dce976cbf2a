import { Namespace } from '#api/core/v1/kinds.gen.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { errorMessage } from '#base/error-message.ts'

/** Makes the namespace that an object is created in. */
export function namespaceAutoProvision({ cluster }: AdmissionContext): AdmissionPlugin {
  const provision = async (request: AdmissionRequest): Promise<void> => {
    try {
      await cluster.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: request.namespace }, spec: {} })
    } catch (error) {
      if (error instanceof StatusError && error.reason === 'AlreadyExists') return
      if (error instanceof StatusError && error.reason === 'Forbidden') throw error
      throw forbid(request, errorMessage(error))
    }
  }
  return {
    name: 'NamespaceAutoProvision',
    operations: ['CREATE'],
    mutate(request) {
      const { isDryRun, namespace, definition } = request
      if (isDryRun || namespace === '' || definition.kind === 'Namespace') return undefined
      return cluster.get(Namespace, namespace) === undefined ? provision(request) : undefined
    },
  }
}

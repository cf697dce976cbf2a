import { Namespace } from '#api/core/v1/kinds.gen.ts'
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { forbidden, notFound, type StatusError } from '#api/meta/status-error.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { ExpiringCache } from '#apiserver/authn/expiring-cache.ts'

const immortalNamespaces = ['default', 'kube-system', 'kube-public']

/** For so long the cache may not have seen that a namespace is being deleted. */
const doubtMs = 30_000
const mostDoubted = 100

/** Objects need a namespace to be in, and none comes into one that is being deleted. */
export function namespaceLifecycle({ cluster, clock }: AdmissionContext): AdmissionPlugin {
  const doubted = new ExpiringCache<true>(clock, mostDoubted)

  const validate = (request: AdmissionRequest, namespace: V1Namespace): void => {
    if (request.operation === 'CREATE' && namespace.status?.phase === 'Terminating') throw beingTerminated(request)
  }
  const lookAgain = async (request: AdmissionRequest): Promise<void> => {
    const namespace = await cluster.getFresh(Namespace, request.namespace)
    if (namespace === undefined) throw notFound({ group: '', resource: 'namespaces' }, request.namespace)
    validate(request, namespace)
  }
  return {
    name: 'NamespaceLifecycle',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    mutate(request) {
      const { operation, definition, name } = request
      if (definition.group === '' && definition.kind === 'Namespace') {
        if (operation !== 'DELETE') return undefined
        if (immortalNamespaces.includes(name)) throw forbidden(request.resource, name, 'this namespace may not be deleted')
        doubted.set(name, true, doubtMs)
        return undefined
      }
      if (request.namespace === '' || operation === 'DELETE' || isAccessReview(request)) return undefined
      const namespace = cluster.get(Namespace, request.namespace)
      if (namespace === undefined) return lookAgain(request)
      if (doubted.size > 0 && namespace.status?.phase === 'Active' && doubted.get(request.namespace)) return lookAgain(request)
      validate(request, namespace)
      return undefined
    },
  }
}

/** To say that a namespace does not exist would tell too much to those who may only ask for their permissions. */
function isAccessReview({ definition }: AdmissionRequest): boolean {
  return definition.plural === 'localsubjectaccessreviews' && definition.group === 'authorization.k8s.io'
}

function beingTerminated(request: AdmissionRequest): StatusError {
  const { namespace } = request
  const error = forbid(request, `unable to create new content in namespace ${namespace} because it is being terminated`)
  const cause = { reason: 'NamespaceTerminating', message: `namespace ${namespace} is being terminated`, field: 'metadata.namespace' }
  error.status.details = { ...error.status.details, causes: [cause] }
  return error
}

import { Pod } from '#api/core/v1/kinds.gen.ts'
import { mirrorPodAnnotation } from '#api/core/v1/pod-spec/validate-annotations.ts'
import type { V1Pod, V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'
import { secretReferences } from '#apiserver/admission/referenced-objects.ts'
import { enforcesMountableSecrets, ephemeralFault, unlistedSecretFault } from '#apiserver/admission/service-account/mountable-secrets.ts'
import { ServiceAccounts } from '#apiserver/admission/service-account/service-accounts.ts'
import { mountToken } from '#apiserver/admission/service-account/token-volume.ts'

const defaultName = 'default'

/** Every pod runs as a service account of its namespace: it gets the account's token and pull secrets. */
export function serviceAccount(context: AdmissionContext): AdmissionPlugin {
  const { random } = context
  const accounts = new ServiceAccounts(context)

  /** Goes on at once if the account is in memory, which it nearly always is. */
  const withAccount = (request: AdmissionRequest, name: string, goOn: (account: V1ServiceAccount) => void): void | Promise<void> => {
    const known = accounts.get(request.namespace, name)
    if (known !== undefined) return goOn(known)
    return accounts.await(request.namespace, name).then((found) => {
      if (found !== undefined) return goOn(found)
      const where = `${request.namespace}/${name}`
      throw forbid(request, `error looking up service account ${where}: serviceaccount "${name}" not found`)
    })
  }
  const validate = (request: AdmissionRequest, pod: V1Pod, account: V1ServiceAccount): void => {
    if (!enforcesMountableSecrets(account)) return
    const fault = request.subresource === '' ? unlistedSecretFault(account, pod) : ephemeralFault(account, pod)
    if (fault !== undefined) throw forbid(request, fault)
  }
  return {
    name: 'ServiceAccount',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods', 'pods/ephemeralcontainers'],
    mutate(request) {
      if (request.operation !== 'CREATE') return undefined
      const pod = objectOf(Pod, request)
      pod.spec ??= { containers: [] }
      const { spec } = pod
      // The kubelet would not know its own pod again if anything were added.
      if (isMirrorPod(pod)) return validateMirrorPod(request, pod)
      const name = spec.serviceAccountName || defaultName
      spec.serviceAccountName = name
      spec.serviceAccount = name
      return withAccount(request, name, (account) => {
        if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(spec, random)
        if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
          spec.imagePullSecrets = account.imagePullSecrets.map(({ name: secret = '' }) => ({ name: secret }))
        }
        validate(request, pod, account)
      })
    },
    validate(request) {
      const pod = objectOf(Pod, request)
      if (request.operation === 'UPDATE' && request.subresource !== 'ephemeralcontainers') return undefined
      if (request.operation === 'CREATE' && isMirrorPod(pod)) return validateMirrorPod(request, pod)
      const name = pod.spec?.serviceAccountName
      if (!name) throw forbid(request, `no service account specified for pod ${request.namespace}/${pod.metadata.name ?? ''}`)
      return withAccount(request, name, (account) => validate(request, pod, account))
    },
  }
}

const isMirrorPod = ({ metadata }: V1Pod): boolean => metadata.annotations?.[mirrorPodAnnotation] !== undefined

/** What a kubelet shows of its static pods may not reach into the API. */
function validateMirrorPod(request: AdmissionRequest, { spec }: V1Pod): void {
  if (spec.serviceAccountName) throw forbid(request, 'a mirror pod may not reference service accounts')
  if (secretReferences(spec).size > 0) throw forbid(request, 'a mirror pod may not reference secrets')
  const hasToken = spec.volumes?.some(({ projected }) => projected?.sources?.some((source) => source.serviceAccountToken !== undefined))
  if (hasToken) throw forbid(request, 'a mirror pod may not use ServiceAccountToken volume projections')
}

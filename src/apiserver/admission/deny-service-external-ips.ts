import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'

/** Who may write services must not be able to take traffic that is meant for somebody else: no new external addresses. */
export function denyServiceExternalIPs(): AdmissionPlugin {
  return {
    name: 'DenyServiceExternalIPs',
    operations: ['CREATE', 'UPDATE'],
    resources: ['services'],
    validate(request) {
      const before = (request.oldObject as V1Service | undefined)?.spec?.externalIPs ?? []
      const now = (request.object as V1Service).spec?.externalIPs ?? []
      if (now.some((address) => !before.includes(address))) throw forbid(request, 'Use of external IPs is denied by admission control')
    },
  }
}

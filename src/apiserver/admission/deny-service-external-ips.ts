import { Service } from '#api/core/v1/kinds.gen.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'

/** Who may write services must not be able to take traffic that is meant for somebody else: no new external addresses. */
export function denyServiceExternalIPs(): AdmissionPlugin {
  return {
    name: 'DenyServiceExternalIPs',
    operations: ['CREATE', 'UPDATE'],
    resources: ['services'],
    validate(request) {
      const before = request.oldObject === undefined ? [] : (oldObjectOf(Service, request).spec?.externalIPs ?? [])
      const now = objectOf(Service, request).spec?.externalIPs ?? []
      if (now.some((address) => !before.includes(address))) throw forbid(request, 'Use of external IPs is denied by admission control')
    },
  }
}

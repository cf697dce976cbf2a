import type { AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'

/** Refuses everything. */
export function alwaysDeny(): AdmissionPlugin {
  const refuse = (request: AdmissionRequest): never => {
    throw forbid(request, 'admission control is denying all modifications')
  }
  return { name: 'AlwaysDeny', operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'], mutate: refuse, validate: refuse }
}

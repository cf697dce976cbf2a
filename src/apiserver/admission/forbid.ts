import { forbidden, type StatusError } from '#api/meta/status-error.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'

/** The refusal most plugins give: `pods "web" is forbidden: …`. */
export function forbid(request: AdmissionRequest, why: string): StatusError {
  return forbidden(request.resource, shownName(request), why)
}

/** Names are not generated yet when plugins change the object; the prefix has to do. */
function shownName({ name, object }: AdmissionRequest): string {
  return name || object?.metadata?.name || object?.metadata?.generateName || 'Unknown'
}

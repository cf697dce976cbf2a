import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'

/** Has nothing to say; kept for those who name it in their flags. */
export const alwaysAdmit = (): AdmissionPlugin => ({ name: 'AlwaysAdmit', operations: [] })

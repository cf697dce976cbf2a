import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'

/** The plugins that run, in upstream's order. */
export function admissionPlugins(
  _choice: { enable: readonly string[]; disable: readonly string[] },
  _context: AdmissionContext,
): AdmissionPlugin[] {
  return []
}

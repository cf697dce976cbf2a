import { ValidatingAdmissionPolicy } from '#api/admissionregistration/v1/kinds.gen.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'

/** Tells in a policy's status which of its expressions cannot be right for the kinds it is about. */
export const admissionPolicyStatusController = defineController({
  name: 'validatingadmissionpolicy-status-controller',
  alias: 'validatingadmissionpolicy-status',
  serviceAccount: 'validatingadmissionpolicy-status-controller',
  for: ValidatingAdmissionPolicy,

  async reconcile(policy, { client, clock }) {
    const { name = '', generation = 0 } = policy.metadata
    if (generation <= (policy.status?.observedGeneration ?? 0)) return
    // Loaded with the first policy: most clusters have none.
    const { policyWarnings } = await import('#controllers/admission-policy-status/policy-warnings.ts')
    const expressionWarnings = await policyWarnings(policy, client, clock)
    const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings }
    await client.apply(
      ValidatingAdmissionPolicy,
      { metadata: { name }, status: { observedGeneration: generation, typeChecking } },
      { subresource: 'status', fieldManager: 'validatingadmissionpolicy-status', force: true },
    )
  },
})

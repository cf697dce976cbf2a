/** Validates a request by policies: loaded only once there is one, with the engine that runs its expressions. */
import type { V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/types.gen.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { AdmissionContext, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { CompiledPolicy, type Decision, type Timed } from '#apiserver/admission/policies/compiled-policy.ts'
import { MadeReady } from '#apiserver/admission/policies/made-ready.ts'
import { askingFor, policyInput, whenAnswered } from '#apiserver/admission/policies/policy-input.ts'
import type { Enforcement, PolicyMetrics } from '#apiserver/admission/policies/policy-metrics.ts'
import { paramResource, paramsOf } from '#apiserver/admission/policies/policy-params.ts'
import { matchedResource } from '#apiserver/admission/policies/request-match.ts'
import { seenIn } from '#apiserver/admission/policies/seen-in.ts'

const compiled = new MadeReady<V1ValidatingAdmissionPolicy, CompiledPolicy>()
const maxAnnotation = 10 * 1024
const codes: Readonly<Record<string, number>> = { Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413 }

type Denial = { readonly policy: string; readonly binding: string | undefined; readonly message: string; readonly reason: string }
export type BoundPolicy = {
  readonly policy: V1ValidatingAdmissionPolicy
  readonly bindings: readonly V1ValidatingAdmissionPolicyBinding[]
}

/** Throws the first denial, after all policies have been asked: others may warn or leave notes. */
export async function validateRequest(
  policies: readonly BoundPolicy[],
  request: AdmissionRequest,
  {
    cluster,
    authorizer,
    clock,
    checks,
  }: Pick<AdmissionContext, 'cluster' | 'authorizer' | 'clock'> & { checks: PolicyMetrics | undefined },
): Promise<void> {
  const ask = askingFor(request, authorizer)
  const denials: Denial[] = []
  for (const { policy, bindings } of policies) {
    const { name = '' } = policy.metadata ?? {}
    const { spec } = policy
    const misconfigured = (error: unknown, binding?: string) => {
      if (spec.failurePolicy === 'Ignore') return
      const what = binding === undefined ? 'policy' : 'binding'
      denials.push({ policy: name, binding, message: `failed to configure ${what}: ${(error as Error).message}`, reason: '' })
    }
    let resource: AdmissionRequest['resource'] | undefined
    try {
      resource = matchedResource(spec.matchConstraints ?? {}, request, cluster)
      if (resource !== undefined && spec.paramKind !== undefined) paramResource(spec.paramKind, cluster)
    } catch (error) {
      misconfigured(error)
      continue
    }
    if (resource === undefined) continue
    const ready = await compiled.of(policy, () => CompiledPolicy.compiling(spec), clock)
    const seen = await seenIn(resource, request, cluster)
    const notes = new Map<string, Set<string>>()
    for (const binding of bindings) {
      const bindingName = binding.metadata?.name ?? ''
      try {
        if (binding.spec.matchResources && matchedResource(binding.spec.matchResources, request, cluster) === undefined) continue
        for (const params of paramsOf(spec.paramKind, binding.spec.paramRef, request.namespace, cluster)) {
          const input = policyInput({ request: seen, resource, params, cluster, ask })
          const { denials: found, ignored, annotations } = await whenAnswered(() => ready.validate(input, clock))
          const observe = (enforcement: Enforcement, { message, tookMs }: Timed) =>
            checks?.observe({ policy: name, binding: bindingName, enforcement, message, tookMs })
          for (const failure of ignored) observe('allow', failure)
          for (const decision of found) {
            for (const action of binding.spec.validationActions ?? []) observe(action.toLowerCase() as Enforcement, decision)
            if (act(decision, name, binding, request)) denials.push({ policy: name, binding: bindingName, ...decision })
          }
          for (const { key, value } of annotations) notes.set(key, (notes.get(key) ?? new Set()).add(value.slice(0, maxAnnotation)))
        }
      } catch (error) {
        misconfigured(error, bindingName)
      }
    }
    for (const [key, values] of notes) request.annotateAudit(`${name}/${key}`, [...values].join(', '))
  }
  const [first] = denials
  if (first !== undefined) throw refusal(first, request)
}

/** True when the request is to be refused. */
function act(
  decision: Decision,
  policy: string,
  { spec, metadata }: V1ValidatingAdmissionPolicyBinding,
  request: AdmissionRequest,
): boolean {
  const { validationActions = [], policyName = '' } = spec
  const { message, index } = decision
  const binding = metadata?.name ?? ''
  if (validationActions.includes('Warn'))
    request.warn(`Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding}': ${message}`)
  if (validationActions.includes('Audit')) {
    const note = { message, policy: policyName, binding, expressionIndex: index, validationActions }
    request.annotateAudit('validation.policy.admission.k8s.io/validation_failure', JSON.stringify([note]))
  }
  return validationActions.includes('Deny')
}

function refusal({ policy, binding, message, reason }: Denial, request: AdmissionRequest): StatusError {
  const by = binding === undefined ? '' : ` with binding '${binding}'`
  const text = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`
  const { status } = forbid(request, text)
  return new StatusError({
    ...status,
    reason: reason || 'Invalid',
    details: { ...status.details, causes: [{ message: text }] },
    code: codes[reason] ?? 422,
  })
}

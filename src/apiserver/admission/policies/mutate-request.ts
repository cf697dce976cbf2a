/** Changes a request by policies: loaded only once there is one, with the engine that runs its expressions. */

import type { V1MutatingAdmissionPolicy, V1MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { AdmissionContext, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { CompiledMutations } from '#apiserver/admission/policies/compiled-mutations.ts'
import { MadeReady } from '#apiserver/admission/policies/made-ready.ts'
import { askingFor, policyInput, whenAnswered } from '#apiserver/admission/policies/policy-input.ts'
import type { Enforcement, PolicyMetrics } from '#apiserver/admission/policies/policy-metrics.ts'
import { paramResource, paramsOf } from '#apiserver/admission/policies/policy-params.ts'
import { matchedResource } from '#apiserver/admission/policies/request-match.ts'
import { isStoredVersion, seenIn } from '#apiserver/admission/policies/seen-in.ts'
import type { Rounds } from '#apiserver/admission/reinvocation.ts'
import { shownVersion } from '#apiserver/admission/shown-version.ts'
import { omitEmpty } from '#base/omit-empty.ts'

const compiled = new MadeReady<V1MutatingAdmissionPolicy, CompiledMutations>()

export type BoundMutatingPolicy = {
  readonly policy: V1MutatingAdmissionPolicy
  readonly bindings: readonly V1MutatingAdmissionPolicyBinding[]
}

type Invocation = {
  readonly policy: V1MutatingAdmissionPolicy
  readonly binding: string
  readonly resource: AdmissionRequest['resource']
  readonly params: KubernetesObject | undefined
}
type Failure = { readonly message: string; readonly reason: string }

/** Throws what the policies that may not fail had to say. */
export async function mutateRequest(
  policies: readonly BoundMutatingPolicy[],
  request: AdmissionRequest,
  {
    cluster,
    authorizer,
    clock,
    checks,
    rounds,
  }: Pick<AdmissionContext, 'cluster' | 'authorizer' | 'clock'> & { checks: PolicyMetrics | undefined; rounds: Rounds },
): Promise<void> {
  const ask = askingFor(request, authorizer)
  const failures: Failure[] = []
  const invocations = policies.flatMap((bound) => invocationsOf(bound, request, cluster, failures))
  const known = rounds.invocationsOf('MutatingAdmissionPolicy')
  known.begin(rounds, request.object, request.definition)
  for (const invocation of invocations) {
    const { policy, binding, params } = invocation
    const uid = JSON.stringify([policy.metadata?.name, binding, params?.metadata?.namespace, params?.metadata?.name])
    if (!known.isDue(uid, rounds)) continue
    const isChanged = await invoke(invocation)
    known.invoked(uid, rounds, { isChanged, wantsRepeat: policy.spec.reinvocationPolicy === 'IfNeeded' })
  }
  known.end(rounds, request.object)
  if (failures.length > 0) throw refusal(failures, request)

  /** Whether the object is another one now. */
  async function invoke({ policy, binding, resource, params }: Invocation): Promise<boolean> {
    const ready = await compiled.of(policy, () => CompiledMutations.compiling(policy.spec), clock)
    const shown = isStoredVersion(resource, request) ? undefined : shownVersion(request, resource, cluster)
    const inputOf = (seen: AdmissionRequest) => policyInput({ request: seen, resource, params, cluster, ask })
    const before = structuredClone(request.object)
    try {
      const seen = await seenIn(resource, request, cluster)
      if (!(await whenAnswered(() => ready.applies(inputOf(seen))))) return false
    } catch (error) {
      if (error instanceof StatusError) throw error
      fail(failures, policy, binding, (error as Error).message, 'Invalid')
      return false
    }
    // One that fails does not stop those after it.
    for (let index = 0; index < ready.count; index++) {
      const { object } = request
      if (object === undefined) break
      const startedMs = clock.monotonic()
      const observe = (enforcement: Enforcement, message?: string) =>
        checks?.observe({ policy: policy.metadata?.name ?? '', binding, enforcement, message, tookMs: clock.monotonic() - startedMs })
      try {
        const seen = await seenIn(resource, request, cluster)
        const current = seen.object ?? object
        const next = await whenAnswered(() => ready.mutated(index, current, inputOf(seen), shown?.definition ?? request.definition))
        replaceContent(object, shown === undefined ? next : await shown.stored(next))
        request.definition.untyped?.coerce(object)
        request.definition.defaults?.(object)
        observe('allow')
      } catch (error) {
        const { message } = error as Error
        observe('deny', message)
        if (error instanceof StatusError) throw error
        fail(failures, policy, binding, message, 'Invalid')
      }
    }
    return !equalityOf(request.definition)(before, request.object)
  }
}

function invocationsOf(
  { policy, bindings }: BoundMutatingPolicy,
  request: AdmissionRequest,
  cluster: AdmissionContext['cluster'],
  failures: Failure[],
): Invocation[] {
  const { spec } = policy
  let resource: AdmissionRequest['resource'] | undefined
  try {
    resource = matchedResource(spec.matchConstraints ?? {}, request, cluster)
    if (resource !== undefined && spec.paramKind !== undefined) paramResource(spec.paramKind, cluster)
  } catch (error) {
    fail(failures, policy, undefined, `failed to configure policy: ${(error as Error).message}`)
    return []
  }
  if (resource === undefined) return []
  const matched = resource
  return bindings.flatMap((binding) => {
    const name = binding.metadata?.name ?? ''
    try {
      if (binding.spec.matchResources && matchedResource(binding.spec.matchResources, request, cluster) === undefined) return []
      const params = paramsOf(spec.paramKind, binding.spec.paramRef, request.namespace, cluster)
      return params.map((each) => ({ policy, binding: name, resource: matched, params: each }))
    } catch (error) {
      fail(failures, policy, name, `failed to configure binding: ${(error as Error).message}`)
      return []
    }
  })
}

function fail(
  failures: Failure[],
  { metadata, spec }: V1MutatingAdmissionPolicy,
  binding: string | undefined,
  why: string,
  reason = '',
): void {
  if (spec.failurePolicy === 'Ignore') return
  const by = binding === undefined ? `policy "${metadata?.name}"` : `policy '${metadata?.name}' with binding '${binding}'`
  failures.push({ message: `${by} denied request: ${why}`, reason })
}

/** In place: others hold on to the object. */
function replaceContent(object: KubernetesObject, next: object): void {
  const fields = object as Record<string, unknown>
  for (const key of Object.keys(fields)) if (!(key in next)) delete fields[key]
  Object.assign(fields, next)
}

function refusal(failures: readonly Failure[], request: AdmissionRequest): StatusError {
  const [first] = failures
  const { status } = forbid(request, 'admission request denied by policy')
  return new StatusError({
    ...status,
    message: first?.message ?? '',
    ...omitEmpty({ reason: first?.reason }),
    details: { ...status.details, causes: failures.map(({ message }) => ({ message })) },
  })
}

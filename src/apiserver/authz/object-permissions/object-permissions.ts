/** Permissions that hang on what an object says, not only on what is done to it; by `group/plural`. */
import { MutatingAdmissionPolicy, ValidatingAdmissionPolicy } from '#api/admissionregistration/v1/kinds.gen.ts'
import { Check } from '#api/meta/check.ts'
import { invalid } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import { judgeCertificateSigning } from '#apiserver/authz/object-permissions/pod-certificates.ts'
import { judgeParamKind, judgeParamRef } from '#apiserver/authz/object-permissions/policy-params.ts'
import { judgeClaimStatus } from '#apiserver/authz/object-permissions/resource-claims.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'

export type PermissionSources = { authorizer: Authorizer; cluster: ClusterView; isEnabled(featureGate: string): boolean }

/** Reports what the writer may not do as errors of fields. `prev` is undefined on create. */
export type ObjectJudge = (
  next: KubernetesObject,
  prev: KubernetesObject | undefined,
  context: WriteContext,
  check: Check<KubernetesObject>,
  sources: PermissionSources,
) => Promise<void>

const judges: Readonly<Record<string, ObjectJudge>> = {
  'admissionregistration.k8s.io/validatingadmissionpolicies': judgeParamKind,
  'admissionregistration.k8s.io/mutatingadmissionpolicies': judgeParamKind,
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': judgeParamRef(ValidatingAdmissionPolicy),
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': judgeParamRef(MutatingAdmissionPolicy),
  'certificates.k8s.io/podcertificaterequests': judgeCertificateSigning,
  'resource.k8s.io/resourceclaims': judgeClaimStatus,
}

export function objectPermissionHooks(sources: PermissionSources): [string, RegistryHooks][] {
  return Object.entries(judges).map(([name, judge]): [string, RegistryHooks] => [
    name,
    {
      async afterRules(next, prev, context) {
        if (context.skipsAdmission) return
        const check = new Check(next)
        await judge(next, prev, context, check, sources)
        if (check.failed) throw invalid(context.kind, next.metadata?.name ?? '', check.errors)
      },
    },
  ])
}

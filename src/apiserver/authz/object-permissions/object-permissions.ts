/** Permissions that hang on what an object says, not only on what is done to it; by `group/plural`. */
import { MutatingAdmissionPolicy, ValidatingAdmissionPolicy } from '#api/admissionregistration/v1/kinds.gen.ts'
import { Check } from '#api/meta/check.ts'
import { invalid } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import { validateCertificateSigning } from '#apiserver/authz/object-permissions/pod-certificates.ts'
import { validateParamKind, validateParamRef } from '#apiserver/authz/object-permissions/policy-params.ts'
import { validateClaimStatus } from '#apiserver/authz/object-permissions/resource-claims.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'

export type PermissionSources = { authorizer: Authorizer; cluster: ClusterView; isEnabled(featureGate: string): boolean }

/** Reports what the writer may not do as errors of fields. `prev` is undefined on create. */
export type ObjectValidator<T extends KubernetesObject = KubernetesObject> = {
  validate(next: T, prev: T | undefined, context: WriteContext, check: Check<KubernetesObject>, sources: PermissionSources): Promise<void>
}['validate']

const validates: Readonly<Record<string, ObjectValidator>> = {
  'admissionregistration.k8s.io/validatingadmissionpolicies': validateParamKind,
  'admissionregistration.k8s.io/mutatingadmissionpolicies': validateParamKind,
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': validateParamRef(ValidatingAdmissionPolicy),
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': validateParamRef(MutatingAdmissionPolicy),
  'certificates.k8s.io/podcertificaterequests': validateCertificateSigning,
  'resource.k8s.io/resourceclaims': validateClaimStatus,
}

export function objectPermissionHooks(sources: PermissionSources): [string, RegistryHooks][] {
  return Object.entries(validates).map(([name, validate]): [string, RegistryHooks] => [
    name,
    {
      async afterRules(next, prev, context) {
        if (context.skipsAdmission) return
        const check = new Check(next)
        await validate(next, prev, context, check, sources)
        if (check.failed) throw invalid(context.kind, next.metadata?.name ?? '', check.errors)
      },
    },
  ])
}

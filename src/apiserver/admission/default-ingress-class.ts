import { newestDefault } from '#api/meta/newest-default.ts'
import { Ingress, IngressClass } from '#api/networking/v1/kinds.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

const classOfOld = 'kubernetes.io/ingress.class'
const isDefault = 'ingressclass.kubernetes.io/is-default-class'

/** An ingress that names no class gets the default one. */
export function defaultIngressClass({ cluster }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'DefaultIngressClass',
    operations: ['CREATE'],
    resources: ['ingresses.networking.k8s.io'],
    mutate(request) {
      const ingress = objectOf(Ingress, request)
      if (ingress.spec?.ingressClassName !== undefined || ingress.metadata?.annotations?.[classOfOld] !== undefined) return
      const name = newestDefault(cluster.list(IngressClass), [isDefault])
      if (name !== undefined) ingress.spec = { ...ingress.spec, ingressClassName: name }
    },
  }
}

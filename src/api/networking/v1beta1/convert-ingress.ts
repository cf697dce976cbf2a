/** A backend had the service and its port beside each other, and the port was a number or a name. */

import type { V1Ingress, V1IngressBackend, V1IngressRule, V1IngressServiceBackend } from '#api/networking/v1/types.gen.ts'
import type { V1beta1Ingress, V1beta1IngressBackend, V1beta1IngressRule } from '#api/networking/v1beta1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export function ingressToV1(ingress: V1beta1Ingress): V1Ingress {
  const { backend, ...spec } = ingress.spec ?? {}
  return {
    ...ingress,
    spec: {
      ...spec,
      ...defined({
        defaultBackend: backend && backendToV1(backend),
        rules: spec.rules?.map((rule) => withBackends(rule, backendToV1)),
      }),
    },
  } as V1Ingress
}

export function ingressFromV1(ingress: V1Ingress): V1beta1Ingress {
  const { defaultBackend, ...spec } = ingress.spec ?? {}
  return {
    ...ingress,
    spec: {
      ...spec,
      ...defined({
        backend: defaultBackend && backendFromV1(defaultBackend),
        rules: spec.rules?.map((rule) => withBackends(rule, backendFromV1)),
      }),
    },
  } as V1beta1Ingress
}

function withBackends<From, To>(
  rule: V1beta1IngressRule | V1IngressRule,
  converted: (backend: From) => To,
): V1beta1IngressRule | V1IngressRule {
  if (rule.http?.paths == null) return rule
  const paths = rule.http.paths.map((path) => ({ ...path, backend: converted((path.backend ?? {}) as From) }))
  return { ...rule, http: { ...rule.http, paths } } as V1beta1IngressRule | V1IngressRule
}

function backendToV1({ serviceName = '', servicePort = 0, ...others }: V1beta1IngressBackend): V1IngressBackend {
  if (serviceName === '' && servicePort === 0) return others
  const port = typeof servicePort === 'number' ? { number: servicePort } : { name: servicePort }
  return { ...others, service: { name: serviceName, port: portOf(port) } }
}

/** Without what is zero, as codecs would leave it out. */
function portOf({ name, number }: { name?: string; number?: number }): NonNullable<V1IngressServiceBackend['port']> {
  return omitEmpty({ name, number })
}

function backendFromV1({ service, ...others }: V1IngressBackend): V1beta1IngressBackend {
  if (service === undefined) return others
  const { name, number } = service.port ?? {}
  return { ...others, serviceName: service.name, servicePort: name || (number ?? 0) }
}

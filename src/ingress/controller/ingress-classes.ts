import type { V1Ingress, V1IngressClass } from '#api/networking/v1/types.gen.ts'

/** `spec.controller` of classes that are ours. */
export const ingressController = 'typernetes.io/ingress-controller'
export const defaultClassName = 'typernetes'
export const defaultClassAnnotation = 'ingressclass.kubernetes.io/is-default-class'
const oldAnnotation = 'kubernetes.io/ingress.class'

export const isDefaultClass = ({ metadata }: V1IngressClass): boolean => metadata.annotations?.[defaultClassAnnotation] === 'true'

/**
 * Whether an Ingress is ours to serve. The annotation of old counts before the field, as it did when the field came. An Ingress without either
 * is ours where our class is the default one.
 */
export function isOurIngress({ metadata, spec }: V1Ingress, classes: readonly V1IngressClass[]): boolean {
  const ours = classes.filter(({ spec: { controller } }) => controller === ingressController)
  const named = metadata.annotations?.[oldAnnotation] || spec.ingressClassName
  if (named) return ours.some((each) => each.metadata.name === named)
  return ours.some(isDefaultClass)
}

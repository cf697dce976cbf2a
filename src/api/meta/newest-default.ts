/** Which of several classes marked as default counts: the newest, then the first by name. */
import type { KubernetesObject } from '#api/resource.ts'

export function newestDefault(classes: readonly KubernetesObject[], annotations: readonly string[]): string | undefined {
  let newest: KubernetesObject | undefined
  for (const each of classes) {
    if (!annotations.some((key) => each.metadata?.annotations?.[key] === 'true')) continue
    if (newest === undefined || comesBefore(each, newest)) newest = each
  }
  return newest?.metadata?.name
}

function comesBefore(one: KubernetesObject, other: KubernetesObject): boolean {
  const [made, madeOther] = [one.metadata?.creationTimestamp ?? '', other.metadata?.creationTimestamp ?? '']
  return made === madeOther ? (one.metadata?.name ?? '') < (other.metadata?.name ?? '') : made > madeOther
}

import type { V1Pod } from '#api/core/v1/types.gen.ts'

/** Of what can change in a pod only images and new containers make it another one; a pod under way is not validated for labels. */
export function isSignificantUpdate({ spec: next }: V1Pod, { spec: prev }: V1Pod): boolean {
  const isOther = (now: readonly { image?: string }[] = [], before: readonly { image?: string }[] = []) =>
    now.length !== before.length || now.some(({ image }, index) => image !== before[index]?.image)
  if (isOther(next.containers, prev.containers) || isOther(next.initContainers, prev.initContainers)) return true
  return (next.ephemeralContainers ?? []).some(({ name, image }) => {
    const before = prev.ephemeralContainers?.find((container) => container.name === name)
    return before === undefined || before.image !== image
  })
}

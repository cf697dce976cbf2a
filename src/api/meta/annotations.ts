/** Annotations that stand for what a version of a kind has no field for. Metadata is private here and changed in place. */
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

/** Without a value the annotation goes away. */
export function setAnnotation(metadata: V1ObjectMeta, key: string, value: string | undefined): void {
  takeAnnotation(metadata, key)
  if (value !== undefined) metadata.annotations = { ...metadata.annotations, [key]: value }
}

/** Removes the annotation, and with it the last trace of annotations where it was the only one. */
export function takeAnnotation(metadata: V1ObjectMeta, key: string): string | undefined {
  const value = metadata.annotations?.[key]
  if (value === undefined) return undefined
  const { [key]: _, ...others } = metadata.annotations ?? {}
  if (Object.keys(others).length > 0) metadata.annotations = others
  else delete metadata.annotations
  return value
}

/** As takeAnnotation, of an int64 in the form codecs hold it: a number as long as that is exact. What is none stays. */
export function takeInteger(metadata: V1ObjectMeta, key: string): number | undefined {
  const text = metadata.annotations?.[key]
  if (text === undefined || !/^-?\d{1,19}$/.test(text)) return undefined
  takeAnnotation(metadata, key)
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : (BigInt(text) as unknown as number)
}

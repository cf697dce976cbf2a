/** The standards for pods, and in which version of Kubernetes they are meant. */

const levels = ['privileged', 'baseline', 'restricted'] as const
export type Level = (typeof levels)[number]

export type LevelVersion = {
  readonly level: Level
  /** The minor version of v1; infinite for the latest. */
  readonly minor: number
}

export const latest = Number.POSITIVE_INFINITY

export const levelVersionText = ({ level, minor }: LevelVersion): string => `${level}:${minor === latest ? 'latest' : `v1.${minor}`}`

export const isSameLevelVersion = (one: LevelVersion, other: LevelVersion): boolean =>
  one.level === other.level && one.minor === other.minor

/** Positive if the first is the stricter one. */
export const compareLevels = (one: Level, other: Level): number => levels.indexOf(one) - levels.indexOf(other)

export const levelFault = `must be one of ${levels.join(', ')}`
export const versionFault = 'must be "latest" or "v1.x"'

export const parseLevel = (text: string): Level | undefined => levels.find((level) => level === text)

export function parseVersion(text: string): number | undefined {
  if (text === 'latest') return latest
  const [, minor] = /^v1\.([0-9]|[1-9][0-9]*)$/.exec(text) ?? []
  return minor === undefined || minor.length > 15 ? undefined : Number(minor)
}

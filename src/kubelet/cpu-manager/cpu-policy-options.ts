/** What the static policy can be told beyond its name (`cpuManagerPolicyOptions`). */

export type CpuPolicyOptions = {
  takesWholeCores: boolean
  distributesAcrossNuma: boolean
  alignsBySocket: boolean
  distributesAcrossCores: boolean
  /** Reserved processors are for no pod, not even for those that share. */
  isStrict: boolean
  prefersUncoreCache: boolean
}

const names = {
  'full-pcpus-only': 'takesWholeCores',
  'distribute-cpus-across-numa': 'distributesAcrossNuma',
  'align-by-socket': 'alignsBySocket',
  'distribute-cpus-across-cores': 'distributesAcrossCores',
  'strict-cpu-reservation': 'isStrict',
  'prefer-align-cpus-by-uncorecache': 'prefersUncoreCache',
} as const satisfies Record<string, keyof CpuPolicyOptions>

const exclusive = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
] as const

/** Throws with what is wrong. */
export function parseCpuPolicyOptions(texts: Readonly<Record<string, string>>): CpuPolicyOptions {
  const options: CpuPolicyOptions = {
    ...{ takesWholeCores: false, distributesAcrossNuma: false, alignsBySocket: false },
    ...{ distributesAcrossCores: false, isStrict: false, prefersUncoreCache: false },
  }
  for (const [name, value] of Object.entries(texts)) {
    const option = Object.hasOwn(names, name) ? names[name as keyof typeof names] : undefined
    if (option === undefined) throw new Error(`unknown CPU Manager Policy option: "${name}"`)
    if (!['true', 'false'].includes(value))
      throw new Error(`bad value for option "${name}": strconv.ParseBool: parsing "${value}": invalid syntax`)
    options[option] = value === 'true'
  }
  for (const [one, other] of exclusive) {
    if (options[names[one]] && options[names[other]]) {
      throw new Error(`static policy options ${one} and ${other} can not be used at the same time`)
    }
  }
  return options
}

/** What names must look like. A rule lists what is wrong, in upstream's words; `isPrefix` is true for a generateName. */
export type NameRule = (name: string, isPrefix: boolean) => string[]

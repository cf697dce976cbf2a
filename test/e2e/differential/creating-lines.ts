import { type Chapter, linesOf } from './lines.ts'

const generated = `
  create namespace made
  create configmap a --from-literal=k=v --from-literal=l=w
  create configmap b --from-file={dir}/cm.yaml
  create configmap c --from-file=key={dir}/cm.yaml
  create configmap d --from-env-file={dir}/variables
  create configmap e --from-literal=k=v --append-hash
  create secret generic a --from-literal=k=v
  create secret generic b --from-literal=k=v --type=example.com/x
  create secret generic c --from-literal=k=v --append-hash
  create secret docker-registry d --docker-username=u --docker-password=p --docker-email=e@x --docker-server=s
  create deployment web --image=nginx
  create deployment web2 --image=nginx:1.2 --replicas=3 --port=80
  create deployment web3 --image=a/b/busybox --image=redis
  create deployment web4 --image=busybox -- sleep 1d
  create job once --image=busybox
  create job once2 --image=busybox -- date
  create cronjob often --image=busybox --schedule='*/1 * * * *'
  create cronjob often2 --image=busybox --schedule='0 * * * *' --restart=Never -- date
  create ingress simple --rule=foo.com/bar=svc1:8080,tls=my-cert
  create ingress all --class=nginx --rule=foo.com/*=svc1:http --rule=/x=svc2:80 --annotation a=b
  create ingress default --default-backend=svc:80
  create service clusterip s1 --tcp=5678:8080
  create service clusterip s2 --clusterip=None
  create service nodeport s3 --tcp=80
  create service loadbalancer s4 --tcp=80:http
  create service externalname s5 --external-name=bar.com
  create serviceaccount builder
  create role r1 --verb=get,list --resource=pods,deployments.apps --resource=pods/status
  create role r2 --verb=* --resource=rs --resource-name=x
  create clusterrole cr-{ns} --verb=get --non-resource-url=/logs/* --namespace={ns}
  create clusterrole cr2-{ns} --aggregation-rule=a=b --namespace={ns}
  create rolebinding rb1 --clusterrole=admin --user=u1 --user=u2 --group=g
  create rolebinding rb2 --role=r1 --serviceaccount=default:x
  create clusterrolebinding crb-{ns} --clusterrole=view --group=g --namespace={ns}
  create quota q1 --hard=cpu=1,memory=1G,pods=2 --scopes=BestEffort
  create quota q2
  create priorityclass pc-{ns} --value=1000 --description=high --namespace={ns}
  create poddisruptionbudget pdb1 --selector=app=rails --min-available=1
  create poddisruptionbudget pdb2 --selector='app in (a,b)' --max-unavailable=50%
`

const refused = `
  create configmap x --from-literal=k
  create configmap x --from-literal=a/b=c
  create configmap x --from-file=/nonexistent
  create configmap x --from-literal=a=b --from-literal=a=c
  create configmap x --from-env-file={dir}/variables --from-literal=a=b
  create secret tls x --cert=/nonexistent --key=/nonexistent
  create secret tls x
  create secret docker-registry x
  create service clusterip x
  create service clusterip x --tcp=foo
  create service externalname x
  create job x
  create job x --from=pod/x
  create job x --from=cronjob/nosuch
  create role x --verb=get
  create role x --resource=pods
  create role x --verb=foo --resource=pods --dry-run=client
  create role x --verb=get --resource=nosuch
  create role x --verb=use --resource=pods
  create clusterrole x --verb=get
  create clusterrole x --verb=list --non-resource-url=/x
  create clusterrole x --verb=get --non-resource-url=x
  create clusterrolebinding x
  create rolebinding x
  create rolebinding x --role=a --clusterrole=b
  create rolebinding x --role=a --serviceaccount=foo
  create poddisruptionbudget x
  create poddisruptionbudget x --selector=a=b
  create poddisruptionbudget x --selector=a=b --min-available=x
  create ingress x
  create ingress x --rule=foo
  create quota x --hard=foo
  create quota x --hard=cpu=x
  create priorityclass
  create deployment X --image=nginx
  create namespace Bad_Name
`

const dry = (output: string): string =>
  generated
    .trim()
    .split('\n')
    .map((line) => {
      const [before = '', ...after] = line.split(' -- ')
      return `${before} --dry-run=client -o ${output}${after.length > 0 ? ` -- ${after.join(' -- ')}` : ''}`
    })
    .join('\n')

export const creating: Chapter = {
  name: 'creating objects out of flags',
  lines: [
    ...linesOf(refused),
    // What Go writes of empty structs has changed over the versions.
    ...linesOf(dry('yaml')).map((line) => ({ ...line, since: 36 })),
    ...linesOf(dry('json')).map((line) => ({ ...line, since: 36 })),
    ...linesOf(dry('name')).map((line) => ({ ...line, since: 36 })),
    ...linesOf(generated.replace('create namespace made', 'create namespace made-{ns}')),
    ...linesOf(`
      create deployment web --image=nginx
      create configmap a --from-literal=k=v
      create job fromcron --from=cronjob/often
      36| create deployment saved --image=nginx --save-config -o jsonpath={.metadata.annotations}
      create deployment tried --image=nginx --dry-run=server -o jsonpath={.spec.replicas}
      create configmap other --from-literal=k=v -o name
      create -f {dir}/cm.yaml
      create -f {dir}/cm.yaml
      create -f {dir}/many.yaml
      create -f {dir}/unknown-kind.yaml
      create -f {dir}/bad.yaml
      create -f {dir}/no-kind.yaml
      create -f {dir}/unknown-field.yaml
      create -f {dir}/unknown-field.yaml --validate=warn
      create -f {dir}/invalid.yaml
      create -f {dir}/empty.yaml
    `),
    { run: 'create -f -', input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-stdin}\n' },
    { run: 'create -f - --dry-run=client -o yaml', input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-stdin2}\n' },
    {
      run: 'create -f - --save-config -o yaml',
      input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-stdin3}\ndata: {a: "<b>"}\n',
    },
  ],
}

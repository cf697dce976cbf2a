import { type Chapter, linesOf } from './lines.ts'

export const describing: Chapter = {
  name: 'describing objects',
  lines: [
    ...linesOf(`
    apply -f {dir}/deploy.yaml
    apply -f {dir}/described.yaml
    create configmap one --from-literal=a=b --from-literal=c='two words'
    create secret generic two --from-literal=k=v
    create quota q1 --hard=cpu=1,pods=20
    create role r1 --verb=get,list --resource=pods,deployments.apps
    create rolebinding rb1 --role=r1 --user=u1 --serviceaccount=default:x
    create poddisruptionbudget pdb1 --selector=app=app --min-available=1
    create ingress ing --rule=foo.com/bar=svc1:8080,tls=my-cert --rule=/x*=svc:80
    create job once --image=busybox
    create cronjob often --image=busybox --schedule='0 0 1 1 *'
    create service clusterip svc --tcp=80:8080
    create service nodeport svc2 --tcp=81
    expose deploy app --port=80
    autoscale deploy app --max=5 --name=hpa
    wait deploy/app --for=condition=Available --timeout=60s
    wait job/once --for=condition=Complete --timeout=2s
  `).map((line) => ({ ...line, since: 36 })),
    ...[
      'cm one',
      'secret two',
      'deploy app',
      'pod -l app=app',
      'rs -l app=app',
      'sts db',
      'ds agent',
      'cronjob often',
      'svc svc',
      'svc svc2',
      'svc app',
      'endpointslices -l kubernetes.io/service-name=app',
      'ing ing',
      'sa default',
      'role r1',
      'rolebinding rb1',
      'quota q1',
      'limits lr',
      'pdb pdb1',
      'netpol np',
      'netpol np2',
      'pvc claim',
      'pod full',
      'ns default',
      'ns {ns}',
      'clusterrole view',
      'clusterrolebinding cluster-admin',
      'priorityclass system-node-critical',
      'lease -l nosuch=x',
      'hpa hpa',
      'cm nosuch',
      'cm on',
      'cm/one secret/two',
      'nosuch x',
      '-f {dir}/deploy.yaml --show-events=false',
    ].map((what) => ({ run: `describe ${what}`, since: 36 })),
  ],
}

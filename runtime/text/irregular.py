"""Forms that no stemmer leads to their word, because they change within: mice, ging, yeux.

A form that is a common word of its own, such as found, left or sau, is not listed.
"""

from collections.abc import Mapping
from functools import cache

from ranklet.runtime.text.spellings import unaccented

# Each word, followed by its irregular forms.
_WORDS = {
    "en": """
        child children, woman women, foot feet, tooth teeth, goose geese, mouse mice, louse
        lice, ox oxen, person people, half halves, wolf wolves, knife knives, wife wives,
        shelf shelves, loaf loaves, thief thieves, calf calves, scarf scarves, elf elves,
        hoof hooves, analysis analyses, basis bases, crisis crises, thesis theses,
        hypothesis hypotheses, diagnosis diagnoses, synthesis syntheses, parenthesis
        parentheses, axis axes, matrix matrices, index indices, vertex vertices, vortex
        vortices, appendix appendices, criterion criteria, phenomenon phenomena, bacterium
        bacteria, stratum strata, curriculum curricula, memorandum memoranda, cactus cacti,
        fungus fungi, nucleus nuclei, radius radii, stimulus stimuli, alumnus alumni,
        syllabus syllabi, larva larvae, alga algae, formula formulae, antenna antennae,
        vertebra vertebrae, genus genera, corpus corpora, policeman policemen, fireman
        firemen, gentleman gentlemen, businessman businessmen, grandchild grandchildren,
        schoolchild schoolchildren, go went gone goes, do did done does, be been, have had
        has, begin began begun, become became, break broke broken, bring brought, build
        built, buy bought, catch caught, choose chose chosen, come came, deal dealt, dig
        dug, draw drew drawn, drink drank drunk, drive drove driven, eat ate eaten, fall
        fallen, feed fed, fight fought, fly flew flown, forbid forbade forbidden, forget
        forgot forgotten, forgive forgave forgiven, freeze froze frozen, get got gotten,
        give gave given, grow grew grown, hang hung, hear heard, hide hid hidden, hold held,
        keep kept, know knew known, lose lost, make made, mean meant, meet met, pay paid,
        ride rode ridden, ring rang rung, rise risen, run ran, say said, see seen, seek
        sought, sell sold, send sent, shake shook shaken, shine shone, show shown, shrink
        shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid,
        speak spoken, spend spent, spin spun, stand stood, steal stole stolen, stick stuck,
        strike struck stricken, swear swore sworn, sweep swept, swim swam swum, swing swung,
        take took taken, teach taught, tear tore torn, tell told, think thought, throw threw
        thrown, understand understood, wake woke woken, wear wore worn, weave wove woven,
        weep wept, win won, write wrote written, withdraw withdrew withdrawn, overcome
        overcame, undergo underwent undergone, arise arose arisen, bend bent, bleed bled,
        blow blew blown, breed bred, cling clung, creep crept, flee fled, sew sewn, spring
        sprang sprung, sting stung, bite bitten, swell swollen, prove proven, far farther
        farthest further furthest
    """,
    "de": """
        gehen ging gingen gegangen, stehen gestanden, sehen sah sahen sieht siehst gesehen,
        geben gab gaben gibt gibst gegeben, nehmen nahm nahmen nimmt nimmst genommen, kommen
        kam kamen gekommen, sprechen sprach sprachen spricht sprichst gesprochen, treffen
        traf trafen trifft getroffen, helfen halfen hilft geholfen, werfen warf warfen wirft
        geworfen, sterben starb starben stirbt gestorben, essen asen isst gegessen, lesen
        las lasen liest gelesen, schreiben schrieb schrieben geschrieben, bleiben blieb
        blieben geblieben, steigen stieg stiegen gestiegen, schneiden schnitt schnitten
        geschnitten, finden fand fanden gefunden, trinken trank tranken getrunken, singen
        sang sangen gesungen, springen sprang sprangen gesprungen, beginnen begann begannen
        begonnen, gewinnen gewann gewannen gewonnen, schwimmen schwamm schwammen
        geschwommen, denken dachte dachten gedacht, bringen brachte brachten gebracht,
        kennen kannte kannten gekannt, nennen nannte nannten genannt, brennen brannte
        brannten gebrannt, rennen rannte rannten gerannt, wissen wusste wussten gewusst,
        fahren fuhr fuhren gefahren, tragen trug trugen getragen, schlagen schlug schlugen
        geschlagen, fallen fielen gefallen, halten hielt hielten gehalten, laufen lief
        liefen gelaufen, rufen rief riefen gerufen, schlafen schlief schliefen geschlafen,
        lassen liess liessen gelassen, ziehen zog zogen gezogen, fliegen flog flogen
        geflogen, fliehen floh flohen geflohen, bieten geboten, verlieren verlor verloren,
        schliessen geschlossen, giessen goss gossen gegossen, sitzen sass sassen gesessen,
        bitten baten gebeten, liegen gelegen, lugen gelogen, heben hob hoben gehoben,
        entscheiden entschied entschieden, verstehen verstand verstanden, entstehen entstand
        entstanden, bestehen bestand bestanden, beschreiben beschrieb beschrieben, vergessen
        vergass vergassen vergisst, fangen fing fingen gefangen, essen ass assen, gelten
        galt galten gilt gegolten, messen gemessen misst, waschen wusch wuschen, wachsen
        wuchs wuchsen gewachsen, leiden litt litten gelitten, reiten ritt ritten geritten,
        streiten stritt stritten gestritten, museum museen, visum visa visen, zentrum
        zentren, thema themen, konto konten, virus viren, firma firmen, drama dramen, globus
        globen, kaktus kakteen, lexikon lexika, praktikum praktika, album alben, stadion
        stadien, ministerium ministerien, studium studien, material materialien, prinzip
        prinzipien, basis basen, praxis praxen, risiko risiken, krise krisen, kaufmann
        kaufleute, gut besser beste besten, viel mehr meiste meisten, hoch hochste, nah
        naher nachste
    """,
    "fr": """
        oeil yeux, ciel cieux, monsieur messieurs, madame mesdames, mademoiselle
        mesdemoiselles, travail travaux, vitrail vitraux, corail coraux, bail baux, email
        emaux, aieul aieux, aller vais vas allait ira irai iront irait aille, faire faisait
        fera feront firent fasse, pouvoir peux peuvent pouvait pourra pourront put puisse,
        vouloir veux veut veulent voulait voudra voulu voulut veuille, devoir doivent devait
        devra, savoir sais sait savent savait saura sut sache, voir voyait verra virent,
        venir viens vient viennent venait viendra vint vinrent, tenir tiens tient tiennent
        tenait tiendra, prendre prends prend prennent prenait prendra prit prirent, mettre
        mettent mettait mettra mit, dire disent disait dira, lire lisent lisait lira lut,
        ecrire ecris ecrit ecrivent ecrivait ecrira, boire boit boivent buvait but, croire
        crois croit croient croyait croira crut, connaitre connais connait connaissent
        connaissait, naitre nait naissent naissait, vivre vivent vivait vivra vecut, mourir
        meurs meurt meurent mourait mourut, recevoir recois recoit recoivent recevait
        recevra recut, courir courent courait courra couru, conduire conduis conduisent,
        ouvrir ouvre ouvrent, offrir offre offrent, suivre suivent suivait, plaire plait
        plaisent
    """,
    "es": """
        ir vas iba iban ire ira iran yendo, hacer hice hara haran, poder pudieron, querer
        quiero quieren quiso quisieron querra, decir dira diciendo, venir vengo viene vienen
        vinieron vendra, poner pongo puso pusieron pondra, saber supo supieron sabra, ver
        veo vio vieron, dar doy, traer traigo trajo trajeron, conducir conduzco condujo
        condujeron, pedir pido pide piden pidio, dormir duermo duerme duermen durmio, morir
        muere mueren murio murieron, sentir sienten sintio, pensar pienso piensa piensan,
        encontrar encuentro encuentran, volver vuelvo vuelve vuelven, jugar juega juegan,
        empezar empiezo empieza empiezan, perder pierdo pierde pierden, entender entiendo
        entiende entienden, seguir siguen siguio, servir sirve sirven sirvio, repetir repite
        repiten repitio, caer cayo cayeron, leer leyo leyeron, oir oigo oye oyen oyo,
        construir construye construyen construyo, conocer conozco, luz luces, pez peces, voz
        voces, cruz cruces, raiz raices
    """,
    "it": """
        uomo uomini, bue buoi, tempio templi, ala ali, uovo uova, dito dita, braccio
        braccia, ginocchio ginocchia, osso ossa, labbro labbra, paio paia, lenzuolo
        lenzuola, centinaio centinaia, migliaio migliaia, mano mani, amico amici, medico
        medici, greco greci, nemico nemici, andare vado vanno andro andra, dire dico dice
        dicono diceva dira disse dissero, potere posso possono poteva potra, volere voglio
        vuole vogliono voleva vorra volle, dovere devono doveva dovra, sapere sanno sapeva
        sapra seppe, venire vengo viene vengono veniva verra venne vennero, tenere tengo
        tiene tengono tenne, dare danno dava diede, vedere vede vedono vide videro, prendere
        prese presero, mettere mise misero, scrivere scrisse scrissero, leggere lesse
        lessero, chiudere chiuse, aprire apre aprono, nascere nacque, morire muore muoiono,
        vivere visse, uscire esco esce escono, bere bevo beve bevono beveva bevve bevuto,
        rimanere rimane rimangono rimase, scegliere scelse, correre corse, rispondere
        rispose, chiedere chiese, vincere vinse, perdere perse, rompere ruppe, nascondere
        nascose
    """,
    "nl": """
        kind kinderen, ei eieren, lid leden, schip schepen, stad steden, smid smeden, museum
        musea, dag dagen, glas glazen, oorlog oorlogen, koe koeien, rund runderen, lam
        lammeren, kalf kalveren, volk volkeren, lied liederen, gaan ging gingen gegaan,
        staan stond stonden gestaan, zien zag zagen gezien, doen deed deden gedaan, komen
        kwamen gekomen, nemen nam namen genomen, geven gaf gaven gegeven, lezen lazen
        gelezen, spreken sprak spraken gesproken, schrijven schreef schreven geschreven,
        blijven bleef bleven gebleven, krijgen kreeg kregen gekregen, kijken keek keken
        gekeken, vinden vond vonden gevonden, drinken dronk dronken gedronken, zingen zong
        zongen gezongen, beginnen begon begonnen, winnen wonnen gewonnen, denken dacht
        dachten gedacht, brengen bracht brachten gebracht, kopen kocht kochten gekocht,
        zoeken zocht zochten gezocht, houden hield hielden gehouden, laten liet lieten
        gelaten, lopen liep liepen gelopen, slapen sliep sliepen geslapen, roepen riep
        riepen geroepen, vallen vielen gevallen, dragen droeg droegen gedragen, slaan sloeg
        sloegen geslagen, rijden reden gereden, snijden sneed sneden gesneden, vliegen vloog
        vlogen gevlogen, kiezen koos kozen gekozen, verliezen verloor verloren, sluiten
        gesloten, eten aten gegeten, zitten zat zaten gezeten, liggen gelegen, weten wist
        wisten geweten, helpen hielp hielpen geholpen, sterven stierf stierven gestorven,
        trekken trok trokken getrokken
    """,
    "pt": """
        mao maos, pao paes, cao caes, alemao alemaes, capitao capitaes, cidadao cidadaos,
        irmao irmaos, animal animais, jornal jornais, hospital hospitais, papel papeis,
        hotel hoteis, nivel niveis, movel moveis, facil faceis, dificil dificeis, util
        uteis, homem homens, imagem imagens, viagem viagens, ordem ordens, ir vou vai vamos
        vao iam irei irao, ser sendo sido, fazer faco fazem fizeram farao, dizer digo dizem
        disse disseram dira, poder posso podem pude puderam, querer quero quer querem quis
        quiseram, saber sei sabe sabem soube souberam, trazer trago traz trazem trouxe
        trouxeram, ver vejo veem viu viram, vir venho vem vinha veio vieram, por ponho poe
        poem punha puseram, dar dou deram, caber caibo coube, ler leem leram, pedir peco
        pede pedem, ouvir ouve ouvem, dormir durmo dorme dormem, perder perco perde
    """,
    "sv": """
        fot fotter, tand tander, hand hander, stad stader, natt natter, bok bocker, bror
        broder, far fader, mor modrar, dotter dottrar, gas gass, mus moss, oga ogon, ora
        oron, se sag sett, ta tagit, ge gav gett, skriva skrev skrivit, dricka drack
        druckit, springa sprang sprungit, finna fann funnit, vinna vann vunnit, sjunga sjong
        sjungit, halla holl hallit, falla foll fallit, lata lat latit, ligga lag, sitta satt
        suttit, sova sov sovit, veta visste vetat, salja salde salt
    """,
    "da": """
        barn born, mand maend, fod fodder, tand taender, hand haender, bog boger, bonde
        bonder, ko koer, gas gaes, son sonner, bror brodre, far faedre, mor modre, datter
        dotre, oje ojne, nat naetter, stad staeder, ga gik gaet, se set, tage tog taget,
        give gav givet, komme kom kommet, skrive skrev skrevet, drikke drak drukket, lobe
        lob, finde fandt fundet, vinde vandt vundet, synge sang sunget, holde holdt, falde
        faldt, ligge ligget, sidde sad siddet, sove sov sovet, vide vidste vidst, gore
        gjorde gjort, sige sagde sagt, saelge solgte solgt
    """,
    "nb": """
        mann menn, fot fotter, tann tenner, hand hender, bok boker, bonde bonder, ku kyr,
        gas gjess, natt netter, bror brodre, far fedre, mor modre, datter dotre, oye oyne,
        tre traer, ga gikk gatt, se sett, ta tok tatt, gi gav gitt, komme kommet, skrive
        skrev skrevet, drikke drakk drukket, finne fant funnet, vinne vant vunnet, synge
        sang sunget, holde holdt, falle falt, ligge ligget, sitte satt sittet, sove sov,
        vite visste visst, gjore gjorde gjort, si sagt, selge solgte solgt, stor storre
        storst
    """,
    "pl": """
        czlowiek ludzie ludzi ludziom ludzmi ludziach, dziecko dzieci dzieciom dziecmi
        dzieciach, rok latach latami, brat bracia braci, oko oczy oczu oczami, ucho uszy
        uszu uszami, reka rece rekami, dzien dni dnia dniach, ksiadz ksieza ksiezy,
        przyjaciel przyjaciol, isc ide idzie ida szedl szla szli poszedl poszla, miec miala
        mieli, jechac jade jedzie jada, widziec widze widzi widza, chciec chca chcial, moc
        moge mogl mogla mogli, wziac wezme wzial, pisac pisze pisza, brac biore bierze
        biora, dac dam dadza, wiedziec wiedza, jesc jedza, dobry najlepszy, zly najgorszy,
        duzy wiekszy najwiekszy, maly mniejszy najmniejszy
    """,
    "ru": """
        человек людей людям людьми людях, ребенок дети детей детям детьми детях, ухо уши
        ушей ушам, око очей, мать матери матерей матерям, дочь дочери дочерей, сын сыновья
        сыновей, друг друзья друзей друзьям, брат братья братьев, муж мужья мужей, время
        времен временем, имя имени имен именем, день дни дней дня, идти иду идет идут шел
        шла шли пошел пошла, ехать еду едет едут, мочь могу могла могли, хотеть хочу хочет
        хотят, писать пишу пишет пишут, искать ищу ищет ищут, взять возьму возьмет взял,
        дать даст дадут, есть едят, бежать бегу бежит бегут, хороший лучший, плохой худший,
        большой больший, маленький меньший
    """,
}


@cache
def bases(language: str) -> Mapping[str, str]:
    """Return the regular form of each irregular one; both are in lower case without accents."""
    found: dict[str, str] = {}
    for group in _WORDS.get(language, "").split(","):
        word, *forms = unaccented(group).split() or [""]
        for form in forms:
            found.setdefault(form, word)
    return found
